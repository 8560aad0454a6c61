"""Every implementation of the store port, empty, one a test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from contract.seaweedfs import SeaweedFS, deviation
from moto import mock_aws

from local_stack.virtualenvs import ensure_environments
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
# Fixture to the implementations that it returns in turn. Moto is not among those that stand
# concurrent writers, its conditional PUT being not atomic, nor among those that enforce what they
# signed.
IMPLEMENTATIONS = {
    "store": (*IN_PROCESS, "moto", "emulator"),
    "racing_store": (*IN_PROCESS, "emulator"),
    "signing_store": (*IN_PROCESS, "emulator"),
    "served_store": ("emulator",),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test over every implementation, with ``--seaweedfs`` over that one as well."""
    more = ("seaweedfs",) if metafunc.config.getoption("--seaweedfs") else ()
    for fixture, kinds in IMPLEMENTATIONS.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, [*kinds, *more], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect of SeaweedFS what is known to be otherwise there."""
    for item in items:
        if reason := deviation(item.name):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@contextmanager
def client_of(endpoint: Endpoint) -> Iterator[S3Client]:
    """Make the registry's own client for an endpoint."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in endpoint.environment().items():
            patch.setenv(name, value)
        client = make_client(region=endpoint.region, endpoint_url=endpoint.url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def emulator_client(emulator: Endpoint) -> Iterator[S3Client]:
    """Yield a client for the emulator; making one takes longer than a test."""
    with client_of(emulator) as client:
        yield client


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Run SeaweedFS, for those who ask for it."""
    ensure_environments("seaweedfs")
    with SeaweedFS(tmp_path_factory.mktemp("seaweedfs")) as running:
        yield running.endpoint


@pytest.fixture(scope="session")
def seaweedfs_client(seaweedfs: Endpoint) -> Iterator[S3Client]:
    """Yield a client for SeaweedFS."""
    with client_of(seaweedfs) as client:
        yield client


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


@pytest.fixture
def seaweedfs_store(seaweedfs: Endpoint, seaweedfs_client: S3Client) -> S3SkillStore:
    """Return a store over a fresh bucket of SeaweedFS."""
    return S3SkillStore(seaweedfs_client, seaweedfs.make_bucket())


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
    served: S3SkillStore = request.getfixturevalue(f"{kind}_store")
    return served


@pytest.fixture
def store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store of every kind in turn."""
    return opened(request.param, request)


@pytest.fixture
def racing_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store of every kind that stands concurrent writers."""
    return opened(request.param, request)


@pytest.fixture
def signing_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store of every kind that enforces what it signed."""
    return opened(request.param, request)


@pytest.fixture
def served_store(request: pytest.FixtureRequest) -> SkillStore:
    """Return an empty store of every kind that is reached over HTTP."""
    return opened(request.param, request)
