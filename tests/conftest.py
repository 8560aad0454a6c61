"""What every kind of test shares: no network but the loopback, and an embedded S3 on demand."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from local_stack.emulator import Emulator
from local_stack.virtualenvs import PROJECT
from pytest_socket import socket_allow_hosts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack.emulator import Endpoint


def pytest_runtest_setup() -> None:
    """Refuse connections to any other machine."""
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


def ensure_environments(*names: str) -> None:
    """Make the project's virtual environments of these names, where they are not there yet."""
    calls = " && ".join(f"ensure_environment {name}" for name in names)
    script = f". {PROJECT}/scripts/_environments.sh && {calls}"
    subprocess.run(["bash", "-c", script], check=True)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Run MiniStack with authentication on, on a free port, over an empty folder.

    Tests share it within one process; each takes buckets of its own by ``emulator.make_bucket()``.
    """
    ensure_environments("emulator")
    with Emulator(tmp_path_factory.mktemp("emulator")) as running:
        yield running.endpoint
