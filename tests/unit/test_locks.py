"""Locks against pyproject.toml, without a network: was ``./scripts/lock`` run after a change?"""

from __future__ import annotations

import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[2]
LAYER = "layers/core/requirements.txt"

# Lock to the parts of pyproject.toml that it is of, as in ./scripts/lock.
LOCKS = {
    LAYER: ["project", "service"],
    "scripts/locks/runtime.txt": ["project", "service", "runtime"],
    "scripts/locks/cli.txt": ["project", "cli"],
    "scripts/locks/server.txt": ["server"],
    "scripts/locks/emulator.txt": ["emulator"],
    "scripts/locks/seaweedfs.txt": ["seaweedfs"],
    "scripts/locks/infrastructure.txt": ["infrastructure"],
    "scripts/locks/openapi.txt": ["openapi"],
    "scripts/locks/frameworks.txt": [
        *("project", "agent", "langchain", "pydantic-ai", "strands", "frameworks"),
    ],
    "scripts/locks/dev.txt": ["project", "service", "cli", "server", "test"],
}


def _declared(part: str) -> list[Requirement]:
    document: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    groups: dict[str, list[str]] = {
        "project": document["project"]["dependencies"],
        **document["project"]["optional-dependencies"],
        **document["dependency-groups"],
    }
    # Extras name others of this project, which no lock holds.
    return [Requirement(text) for text in groups[part] if not text.startswith("skill-registry[")]


def _locked(lock: str) -> dict[str, Requirement]:
    """Read the entries of a lock; where one is split by markers, the last one counts."""
    lines = (PROJECT / lock).read_text("utf-8").splitlines()
    entries = [Requirement(line.removesuffix("\\")) for line in lines if not line.startswith(" ")]
    return {canonicalize_name(entry.name): entry for entry in entries}


def _version(entry: Requirement) -> str:
    (pin,) = entry.specifier
    assert pin.operator == "==", entry
    return pin.version


def _closure(part: list[Requirement]) -> set[str]:
    """Names that these requirements need here, as the installed packages declare them."""
    found: set[str] = set()
    waiting = list(part)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        found.add(name)
        needed = [Requirement(text) for text in requires(name) or []]
        waiting += [
            item
            for item in needed
            if item.marker is None
            or any(item.marker.evaluate({"extra": e}) for e in ("", *requirement.extras))
        ]
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_what_pyproject_asks_for(lock: str) -> None:
    locked = _locked(lock)
    for part in LOCKS[lock]:
        for requirement in _declared(part):
            entry = locked[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(_version(entry)), (entry, requirement)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_has_hashes_and_no_address(lock: str) -> None:
    text = (PROJECT / lock).read_text("utf-8")
    assert "://" not in text
    for entry in text.split("\n"):
        assert not entry or entry.startswith("    --hash=sha256:") or entry.endswith(" \\")
    assert "\\\n\n" not in text


def test_every_lock_is_checked_here() -> None:
    found = {str(path.relative_to(PROJECT)) for path in (PROJECT / "scripts/locks").iterdir()}
    assert found | {LAYER} == set(LOCKS)


def test_the_command_line_holds_what_the_toolkit_needs() -> None:
    assert {str(each) for each in _declared("agent")} <= {str(each) for each in _declared("cli")}


def test_the_layer_holds_what_the_service_needs_and_nothing_else() -> None:
    needed = _closure(_declared("project") + _declared("service"))
    assert set(_locked(LAYER)) == needed


@pytest.mark.parametrize("lock", ["scripts/locks/runtime.txt", "scripts/locks/dev.txt"])
def test_what_is_tested_and_served_is_what_is_deployed(lock: str) -> None:
    other = _locked(lock)
    for name, entry in _locked(LAYER).items():
        assert _version(other[name]) == _version(entry)
