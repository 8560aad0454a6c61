"""What every kind of test shares: no network but the loopback, and an embedded S3 on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pytest_socket import socket_allow_hosts

from local_stack.emulator import Emulator
from local_stack.virtualenvs import ensure_environments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack.emulator import Endpoint


def pytest_runtest_setup() -> None:
    """Refuse connections to any other machine."""
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(scope="session", autouse=True)
def nobodys_profiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the registries and credentials of whoever runs this out of every run of skillctl."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKILLCTL_CONFIG", str(tmp_path_factory.mktemp("skillctl") / "config.toml"))
        for name in ("SKILL_REGISTRY_TOKEN", "SKILL_REGISTRY_AUTH", "SKILL_REGISTRY_PROFILE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Run MiniStack with authentication on, on a free port, over an empty folder.

    Tests share it within one process; each takes buckets of its own by ``emulator.make_bucket()``.
    """
    ensure_environments("emulator")
    with Emulator(tmp_path_factory.mktemp("emulator")) as running:
        yield running.endpoint
