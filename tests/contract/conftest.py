"""Every implementation of the store port, empty, one a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from moto import mock_aws

from skill_registry.store.directory import DirectorySkillStore
from skill_registry.store.memory import MemorySkillStore
from skill_registry.store.s3 import S3SkillStore, make_client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mypy_boto3_s3 import S3Client

    from local_stack.emulator import Endpoint
    from skill_registry.store.base import SkillStore

IN_PROCESS = ("memory", "memory-opaque-etags", "directory")


@pytest.fixture(scope="session")
def emulator_client(emulator: Endpoint) -> Iterator[S3Client]:
    """Yield the registry's own client for the emulator; making one takes longer than a test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in emulator.environment().items():
            patch.setenv(name, value)
        client = make_client(region=emulator.region, endpoint_url=emulator.url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def moto_client() -> Iterator[S3Client]:
    """Yield a client whose requests end in moto, in this process, wherever moto is active."""
    with mock_aws():
        client = make_client(region="us-east-1")
    yield client
    client.close()


@pytest.fixture
def moto_store(moto_client: S3Client) -> Iterator[S3SkillStore]:
    """Yield a store in moto. Moto changes the environment, so it is active for one test only."""
    with mock_aws():
        moto_client.create_bucket(Bucket="registry")
        yield S3SkillStore(moto_client, "registry")


@pytest.fixture
def emulator_store(emulator: Endpoint, emulator_client: S3Client) -> S3SkillStore:
    """Return a store over a fresh bucket of the emulator."""
    return S3SkillStore(emulator_client, emulator.make_bucket())


def opened(kind: str, request: pytest.FixtureRequest) -> SkillStore:
    """Open an empty store of one kind."""
    match kind:
        case "memory":
            return MemorySkillStore()
        case "memory-opaque-etags":
            return MemorySkillStore(opaque_etags=True)
        case "directory":
            folder: Path = request.getfixturevalue("tmp_path")
            return DirectorySkillStore(folder / "skills")
        case "moto":
            store: S3SkillStore = request.getfixturevalue("moto_store")
            return store
    emulated: S3SkillStore = request.getfixturevalue("emulator_store")
    return emulated


@pytest.fixture(params=[*IN_PROCESS, "moto", "emulator"])
def store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store of every kind in turn."""
    return opened(request.param, request)


@pytest.fixture(params=[*IN_PROCESS, "emulator"])
def racing_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return every kind that stands concurrent writers; moto's conditional PUT is not atomic."""
    return opened(request.param, request)


@pytest.fixture(params=[*IN_PROCESS, "emulator"])
def signing_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return every kind that enforces what it signed; moto does not."""
    return opened(request.param, request)
