"""The lock file: what is written is read, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skill_registry.agent.lockfile import Lock, LockedSkill, read_pins
from skill_registry.agent.problems import DigestMismatch
from skill_registry.errors import RequestInvalid

LOCK = Lock(
    (
        LockedSkill("a", "system", 3, "Does a. Für alle.", "0" * 64),
        LockedSkill("b", "team-x", "2.3", "", "1" * 64),
        LockedSkill("c", "path", None, "c", "2" * 64),
    )
)


def _locked(name: str, version: object, sha256: str) -> str:
    members = {"name": name, "scope": "system", "version": version, "description": "d"}
    return json.dumps({"schema": 1, "skills": [{**members, "sha256": sha256}]})


_ITEM = _locked("a", 1, "0" * 64).partition("[")[2].removesuffix("]}")


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "skills.lock"
    LOCK.write(path)
    assert Lock.read(path) == LOCK


def test_equal_locks_are_equal_files(tmp_path: Path) -> None:
    LOCK.write(tmp_path / "one")
    Lock.read(tmp_path / "one").write(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        '{"schema": 2, "skills": []}',
        '{"schema": 1}',
        '{"schema": 1, "skills": [{"name": "a"}]}',
        _locked("../x", 1, "0" * 64),
        _locked("", 1, "0" * 64),
        _locked("a", -3, "0" * 64),
        _locked("a", "@stable", "0" * 64),
        _locked("a", 1, "zz"),
        _locked("a", 1, "0" * 64).replace("[", "[" + _ITEM + ", "),
        "[" * 100_000,
        "\udcff",
    ],
    ids=[
        *("empty", "text", "list", "bare", "newer", "no skills", "half a skill", "a path"),
        *("no name", "no number", "a label", "no digest", "twice", "deep", "bytes"),
    ],
)
def test_what_is_no_lock_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "skills.lock"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RequestInvalid, match=r"skills\.lock") as refused:
        Lock.read(path)
    assert refused.value.code == "lock_invalid"


def test_other_bytes_than_the_locked_ones_are_refused() -> None:
    locked = LOCK.skills[0]
    locked.check("0" * 64)
    with pytest.raises(DigestMismatch) as refused:
        locked.check("f" * 64)
    assert refused.value.code == "skill_digest_mismatch"


@pytest.mark.parametrize("version", [0, -1, True, "3", "@", "", None, 1.5])
def test_a_pin_is_a_number_or_a_label(version: object) -> None:
    with pytest.raises(RequestInvalid) as refused:
        read_pins({"a": version})
    assert refused.value.code == "pin_invalid"
    assert read_pins({"a": 3, "b": "@stable"}) == {"a": 3, "b": "@stable"}
