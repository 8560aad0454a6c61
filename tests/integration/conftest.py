"""The local server as a fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toys import write_toy_project

from local_stack.launcher import ServerProcess
from local_stack.virtualenvs import ensure_environments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def stack_environments() -> None:
    """Make what the stack's processes run in, where it is not there yet."""
    ensure_environments("emulator", "runtime", "server")


@pytest.fixture(scope="session")
def toy_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the toy project once and return its template."""
    return write_toy_project(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="session")
def toy_server(
    toy_template: Path, tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    """Run the toy project; tests share it, so none may end it."""
    data = tmp_path_factory.mktemp("server")
    server = ServerProcess(data, "--template", str(toy_template), "--empty").start()
    yield server
    server.stop()
