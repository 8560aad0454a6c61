"""``skillctl validate``: what a publish would say, word for word, without a registry."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from case_inputs import Case, archive_of, ids, read_cases, skill_md_of
from house import skill_zip
from loopback import Loopback

from skill_registry.agent.client import RegistryClient
from skill_registry.agent.packing import pack
from skill_registry.agent.problems import RegistryProblem
from skill_registry.errors import SkillInvalid
from skill_registry_cli.main import main
from skill_registry_cli.validating import check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skill_registry.spec.model import Diagnostic

COLON = "---\nname: x\ndescription: a: b\n---\n"
SOUND = "---\nname: notes\ndescription: Does one thing.\n---\nDo it.\n"

TEXTS = read_cases("skill_md")
ARCHIVES = read_cases("archives")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryClient]:
    with Loopback() as running, RegistryClient(running.url) as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bean-pots"
    folder.mkdir()
    return folder


def validated(capture: Capture, *arguments: object) -> tuple[int, Any]:
    """Run the command with ``--json``; return exit code and document."""
    capture.readouterr()
    code = main(["validate", *map(str, arguments), "--json"])
    captured = capture.readouterr()
    assert captured.err == ""
    return code, json.loads(captured.out)


def published(registry: RegistryClient, path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Push a path, and ask for a dry run of the same bytes; return their name and diagnostics."""
    packed = pack(path)
    dry = registry.validate(packed.archive, packed.name)
    found: tuple[Diagnostic, ...]
    try:
        found = registry.publish(packed.name, packed.archive).diagnostics
    except RegistryProblem as refused:
        found = refused.diagnostics
        assert not dry.valid
    else:
        assert dry.valid
    assert dry.diagnostics == found
    return packed.name, [each.to_dict() for each in (*packed.diagnostics, *found)]


@pytest.mark.parametrize("case", TEXTS, ids=ids(TEXTS))
def test_a_text_gets_the_diagnostics_of_a_publish(
    case: Case, folder: Path, registry: RegistryClient
) -> None:
    (folder / "SKILL.md").write_bytes(skill_md_of(case))
    name, expected = published(registry, folder)
    valid = all(found["severity"] != "error" for found in expected)
    assert check(folder).document() == {"valid": valid, "name": name, "diagnostics": expected}
    assert check(folder / "SKILL.md") == check(folder)


@pytest.mark.parametrize("case", ARCHIVES, ids=ids(ARCHIVES))
def test_an_archive_gets_the_diagnostics_of_a_publish(
    case: Case, tmp_path: Path, registry: RegistryClient
) -> None:
    archive = tmp_path / "knot-book.zip"
    archive.write_bytes(archive_of(case))
    name, expected = published(registry, archive)
    valid = all(found["severity"] != "error" for found in expected)
    assert check(archive).document() == {"valid": valid, "name": name, "diagnostics": expected}


def test_what_a_push_would_not_even_send_is_told_the_same_way(
    folder: Path, capsys: Capture
) -> None:
    (folder / "SKILL.md").write_text(SOUND)
    (folder / ".gitignore").write_text("*\n")
    with pytest.raises(SkillInvalid) as refused:
        pack(folder)
    expected = [each.to_dict() for each in refused.value.diagnostics]
    assert validated(capsys, folder) == (
        1,
        {"valid": False, "name": None, "diagnostics": expected},
    )
    assert main(["validate", str(folder)]) == 1
    assert "skill_md_ignored" in capsys.readouterr().err


def test_a_colon_is_told_with_line_column_and_the_quoting_that_mends_it(
    folder: Path, capsys: Capture
) -> None:
    (folder / "SKILL.md").write_text(COLON)
    assert main(["validate", str(folder)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    index = next(i for i, line in enumerate(lines) if "yaml_colon" in line)
    assert lines[0] == "skill_invalid: `x` breaks rules."
    assert lines[index].startswith(f"{folder}/SKILL.md:3:15: error yaml_colon: ")
    assert lines[index + 1] == '    hint: Put quotes round the value: description: "a: b"'


def test_a_file_alone_is_told_from_where_the_user_stands(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "SKILL.md").write_text(COLON)
    monkeypatch.chdir(folder)
    assert main(["validate", "SKILL.md"]) == 1
    assert "./SKILL.md:3:15: error yaml_colon: " in capsys.readouterr().err


def test_a_valid_skill_is_said_to_be_with_its_warnings(folder: Path, capsys: Capture) -> None:
    (folder / "SKILL.md").write_text(SOUND)
    assert main(["validate", str(folder)]) == 0
    assert capsys.readouterr() == ("notes is valid.\n", "")
    (folder / "SKILL.md").write_text(SOUND.removesuffix("Do it.\n"))
    (folder / "link").symlink_to("SKILL.md")
    assert main(["validate", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "notes is valid.\n"
    assert "warning body_empty" in captured.err
    assert "warning link_skipped" in captured.err


def test_a_name_may_be_asked_for(tmp_path: Path, capsys: Capture) -> None:
    archive = tmp_path / "any.zip"
    archive.write_bytes(skill_zip("notes"))
    assert validated(capsys, archive, "--name", "notes")[0] == 0
    code, document = validated(capsys, archive, "--name", "Other Name")
    assert (code, document["name"]) == (1, "Other Name")
    codes = [found["code"] for found in document["diagnostics"]]
    assert codes == ["name_characters", "name_mismatch"]


def test_a_skill_md_alone_is_a_skill_of_one_file(folder: Path, capsys: Capture) -> None:
    (folder / "skill.md").write_text(SOUND)
    (folder / "huge.bin").write_bytes(bytes(11 * 1024 * 1024))
    code, document = validated(capsys, folder / "skill.md")
    assert (code, document["name"]) == (0, "notes")
    assert [found["code"] for found in document["diagnostics"]] == ["skill_md_renamed"]
    assert validated(capsys, folder)[0] == 1


def test_the_name_of_a_file_without_one_is_its_directorys(folder: Path, capsys: Capture) -> None:
    (folder / "SKILL.md").write_text("# No frontmatter\n")
    assert validated(capsys, folder / "SKILL.md")[1]["name"] == "bean-pots"


def test_wrong_usage_ends_with_2(tmp_path: Path, capsys: Capture) -> None:
    assert main(["validate"]) == 2
    assert main(["validate", str(tmp_path / "nowhere")]) == 2
    assert main(["validate", str(tmp_path), "--scope", "system"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_neither_directory_nor_archive_is_refused(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    code, document = validated(capsys, tmp_path / "notes.txt")
    assert (code, [found["code"] for found in document["diagnostics"]]) == (1, ["archive_invalid"])
    code, document = validated(capsys, tmp_path)
    assert (code, [found["code"] for found in document["diagnostics"]]) == (1, ["skill_md_missing"])


def test_a_bomb_is_refused_in_a_zip_file(tmp_path: Path, capsys: Capture) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", SOUND)
        archive.writestr("a.bin", bytes(9 * 1024 * 1024))
    (tmp_path / "bomb.zip").write_bytes(target.getvalue())
    code, document = validated(capsys, tmp_path / "bomb.zip")
    assert (code, [found["code"] for found in document["diagnostics"]]) == (1, ["archive_ratio"])
