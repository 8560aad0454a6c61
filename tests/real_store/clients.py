"""The registry's own S3 clients for an endpoint of the tests, closed in the end."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from skill_registry.store.s3 import S3SkillStore, make_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client

    from local_stack.emulator import Endpoint


@contextmanager
def endpoint_variables(endpoint: Endpoint, **more: str) -> Iterator[None]:
    """Set the variables by which a function finds the endpoint, and further ones."""
    with patch.dict(os.environ, {**endpoint.environment(), **more}):
        yield


@contextmanager
def registry_clients(
    endpoint: Endpoint, count: int = 1, *, url: str | None = None
) -> Iterator[list[S3Client]]:
    """Make clients as a function does; ``url`` is of a proxy in front of the endpoint."""
    with endpoint_variables(endpoint):
        made = [
            make_client(region=endpoint.region, endpoint_url=url or endpoint.url)
            for _ in range(count)
        ]
    try:
        yield made
    finally:
        for client in made:
            client.close()


@contextmanager
def opened(endpoint: Endpoint, bucket: str, *, url: str | None = None) -> Iterator[S3SkillStore]:
    """Open one bucket."""
    with registry_clients(endpoint, url=url) as (client,):
        yield S3SkillStore(client, bucket)
