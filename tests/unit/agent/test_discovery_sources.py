"""What a caller of discovery gives and gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trees import grow

from skill_registry.agent.discovery import (
    Locations,
    bundled_directory,
    default_locations,
    discover,
)
from skill_registry.errors import SkillInvalid
from skill_registry.spec.discovery import Collision, SourceKind

_BODY = "\n  Water them.\r\n\n"


def _text(name: str, description: str = "Grows beans.") -> str:
    return f"---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n{_BODY}"


def _run(script: str, **environment: str) -> str:
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_skill_tells_what_its_file_says(tmp_path: Path) -> None:
    grow(tmp_path, {"kit/pots/SKILL.md": _text("pots"), "kit/pots/scripts/x.py": "1\n"})
    (skill,) = discover([tmp_path / "kit"], defaults=False).skills
    assert (skill.name, skill.description, skill.kind) == ("pots", "Grows beans.", SourceKind.PATH)
    assert skill.meta.license == "MIT"
    assert skill.path == tmp_path / "kit/pots/SKILL.md"
    assert skill.base == tmp_path / "kit/pots"


def test_a_body_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _text("pots")})
    (skill,) = discover([tmp_path], defaults=False).skills
    assert skill.body() == _BODY
    grow(tmp_path, {"pots/SKILL.md": _text("pots") + "More.\n"})
    assert skill.body() == _BODY + "More.\n"
    skill.path.unlink()
    with pytest.raises(FileNotFoundError):
        skill.body()


def test_a_collision_holds_winner_and_loser(tmp_path: Path) -> None:
    grow(tmp_path, {"a/pots/SKILL.md": _text("pots"), "b/pots/SKILL.md": _text("pots")})
    found = discover(["a", "b"], defaults=False, cwd=tmp_path)
    winner, loser = tmp_path / "a/pots/SKILL.md", tmp_path / "b/pots/SKILL.md"
    assert found.collisions == (Collision("pots", winner, loser),)
    assert found.diagnostics == (found.collisions[0].diagnostic,)


def test_a_missing_directory_holds_no_skills_and_strict_does_not_mind(tmp_path: Path) -> None:
    for strict in (False, True):
        found = discover([tmp_path / "skills"], defaults=False, strict=strict)
        assert found.skills == ()
        assert [each.code for each in found.diagnostics] == ["source_missing"]


def test_a_directory_without_a_skill_md_is_passed_over(tmp_path: Path) -> None:
    grow(tmp_path, {"skills/empty/notes.txt": "x", "skills/pots/SKILL.md": _text("pots")})
    found = discover([tmp_path / "skills"], defaults=False, strict=True)
    assert [skill.name for skill in found.skills] == ["pots"]
    assert found.diagnostics == ()


def test_strict_names_every_path_that_cannot_be_loaded(tmp_path: Path) -> None:
    files = {"a/SKILL.md": "x\n", "b/SKILL.md": _text("b", "''"), "c/SKILL.md": _text("c")}
    grow(tmp_path, files)
    with pytest.raises(SkillInvalid) as refused:
        discover([tmp_path], defaults=False, strict=True)
    assert str(tmp_path / "a/SKILL.md") in refused.value.message
    assert str(tmp_path / "b/SKILL.md") in refused.value.message
    assert "c/SKILL.md" not in refused.value.message
    codes = [each.code for each in refused.value.diagnostics]
    assert codes == ["frontmatter_missing", "description_missing"]


def test_strict_lets_warnings_and_collisions_pass(tmp_path: Path) -> None:
    files = {
        "README.md": "x\n",
        "a/pots/SKILL.md": _text("other"),
        "b/pots/SKILL.md": _text("pots"),
    }
    grow(tmp_path, files)
    found = discover([tmp_path, tmp_path / "gone"], defaults=False, strict=True)
    assert [skill.path for skill in found.skills] == [tmp_path / "a/pots/SKILL.md"]
    assert [each.code for each in found.diagnostics] == [
        "description_missing",
        "name_mismatch",
        "source_missing",
        "collision",
    ]


def test_bundled_skills_lie_where_the_environment_says() -> None:
    assert bundled_directory({}) == Path("skills")
    assert bundled_directory({"SKILLS_DIR": ""}) == Path("skills")
    assert bundled_directory({"SKILLS_DIR": "/opt/kit"}) == Path("/opt/kit")


def test_the_environment_is_read_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLS_DIR", "/opt/kit")
    assert bundled_directory() == Path("/opt/kit")
    monkeypatch.delenv("SKILLS_DIR")
    assert bundled_directory() == Path("skills")


def test_default_places_are_those_that_agents_share() -> None:
    home, here = Path("/home/ann"), Path("/garden")
    assert default_locations(home, here) == Locations(
        Path("/home/ann/.agents/skills"), Path("/garden/.agents/skills")
    )
    assert default_locations(None, here).user is None


def test_home_and_working_directory_are_those_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "home/.agents/skills/a/SKILL.md": _text("a"),
        "here/.agents/skills/b/SKILL.md": _text("b"),
        "here/kit/c/SKILL.md": _text("c"),
        "home/kit/d/SKILL.md": _text("d"),
    }
    grow(tmp_path, files)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    found = discover(["kit", "~/kit"])
    assert found.diagnostics == ()
    assert [(skill.name, str(skill.kind)) for skill in found.skills] == [
        ("a", "user"),
        ("b", "project"),
        ("c", "path"),
        ("d", "path"),
    ]


def test_a_location_that_is_none_is_not_looked_at(tmp_path: Path) -> None:
    grow(tmp_path, {".agents/skills/a/SKILL.md": _text("a")})
    assert discover(locations=Locations(), home=tmp_path, cwd=tmp_path).skills == ()


def test_one_source_need_not_be_in_a_list(tmp_path: Path) -> None:
    grow(tmp_path, {"pots/SKILL.md": _text("pots")})
    for source in (str(tmp_path), tmp_path):
        assert [skill.name for skill in discover(source, defaults=False).skills] == ["pots"]


def test_a_working_directory_that_was_deleted_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, home = tmp_path / "gone", grow(tmp_path, {"h/kit/pots/SKILL.md": _text("pots")}) / "h"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    found = discover(["kit", "~/kit", str(home / "kit")], home=home)
    assert [skill.name for skill in found.skills] == ["pots"]
    assert [each.code for each in found.diagnostics] == ["source_missing"]


def test_the_client_and_discovery_are_imported_without_pathspec() -> None:
    script = (
        "import sys, skill_registry.agent.client, skill_registry.agent.discovery\n"
        "print('pathspec' in sys.modules)"
    )
    assert _run(script) == "False"


def test_without_pathspec_an_ignore_file_is_reported_and_the_skills_are_found(
    tmp_path: Path,
) -> None:
    grow(tmp_path, {".gitignore": "pots\n", "pots/SKILL.md": _text("pots")})
    script = (
        "import json, sys\n"
        "sys.modules['pathspec'] = None\n"
        "from skill_registry.agent.discovery import discover\n"
        f"found = discover({str(tmp_path)!r}, defaults=False)\n"
        "print(json.dumps([[s.name for s in found.skills],"
        " [[str(d.severity), d.code, d.message] for d in found.diagnostics]]))"
    )
    names, ((severity, code, message),) = json.loads(_run(script))
    assert names == ["pots"]
    assert (severity, code) == ("warning", "ignore_file_skipped")
    assert "`agent`" in message
