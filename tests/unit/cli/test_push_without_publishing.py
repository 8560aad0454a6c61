"""push that only asks what a publish would say, and push that does not wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Fault, Loopback
from trees import grow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def skill_md(name: str, description: str = "Does one thing.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ("alpha", "beta")
    return grow(tmp_path / "skills", {f"{name}/SKILL.md": skill_md(name) for name in names})


def test_a_dry_run_says_that_it_would_be_published_and_publishes_nothing(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", folder / "alpha", "--dry-run")
    assert (run.code, run.out) == (0, "alpha would be published in system as it is.\n")
    assert registry.house.listed() == {}


def test_a_dry_run_in_json_is_the_validation(folder: Path, capsysbinary: Capture) -> None:
    (folder / "alpha/link").symlink_to("SKILL.md")
    document = Run(capsysbinary, "push", folder / "alpha", "--dry-run", "--json").document()
    assert (document["valid"], document["name"], document["scope"]) == (True, "alpha", "system")
    assert [each["code"] for each in document["diagnostics"]] == ["link_skipped"]


def test_a_dry_run_refuses_with_every_diagnostic(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    (folder / "alpha/SKILL.md").write_text(skill_md("alpha", "a: b"))
    run = Run(capsysbinary, "push", folder / "alpha", "--dry-run")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("skill_invalid: `alpha` breaks rules.\n")
    assert f"{folder}/alpha/SKILL.md:3:15: error yaml_colon: " in run.err
    as_json = Run(capsysbinary, "push", folder / "alpha", "--dry-run", "--json")
    assert (as_json.code, as_json.document()["valid"]) == (1, False)
    assert "yaml_colon" in [each["code"] for each in as_json.document()["diagnostics"]]
    assert registry.house.listed() == {}


def test_a_dry_run_of_several_tells_each(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    (folder / "alpha/SKILL.md").write_text(skill_md("alpha", "a: b"))
    run = Run(capsysbinary, "push", folder, "--dry-run")
    assert (run.code, run.out) == (1, "beta would be published in system as it is.\n")
    assert f"{folder}/alpha: error skill_invalid: " in run.err
    assert run.err.endswith("1 would be published, 1 refused.\n")
    document = Run(capsysbinary, "push", folder, "--dry-run", "--json").document()
    assert (document["published"], document["validated"], document["refused"]) == (0, 1, 1)
    assert [each["valid"] for each in document["results"]] == [False, True]
    assert registry.house.listed() == {}


def test_a_dry_run_looks_at_the_version_that_is_expected(
    folder: Path, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "push", folder / "alpha").code == 0
    late = Run(capsysbinary, "push", folder / "alpha", "--dry-run", "--if-version=2", "--json")
    assert (late.code, late.document()["code"]) == (1, "version_conflict")
    assert Run(capsysbinary, "push", folder / "alpha", "--dry-run", "--if-version=1").code == 0


def test_what_is_not_waited_for_is_published_by_the_event_of_its_upload(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", folder / "alpha", "--no-wait", "--json")
    document = run.document()
    assert (run.code, document["state"], document["name"]) == (0, "sent", "alpha")
    assert registry.seen() == ["POST /uploads", "PUT /s3"]
    assert registry.house.listed() == {}
    sent = [key for key in registry.house.state() if document["upload_id"].split("-")[-1] in key]
    assert registry.house.deliver(*sent) == set()
    assert registry.house.listed() == {"alpha": 1}


def test_what_was_sent_is_told(folder: Path, capsysbinary: Capture) -> None:
    alone = Run(capsysbinary, "push", folder / "alpha", "--no-wait")
    assert alone.out.startswith("Sent alpha as upload ")
    assert alone.out.endswith("; the registry publishes it.\n")
    both = Run(capsysbinary, "push", folder, "--no-wait")
    assert (both.code, both.err, both.out.count("Sent ")) == (0, "2 sent, 0 refused.\n", 2)


def test_a_dry_run_that_does_not_wait_is_wrong_usage(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "push", folder, "--dry-run", "--no-wait").code == 2
    assert registry.requests == []


def test_an_empty_path_is_wrong_usage_and_not_all_that_is_here(
    folder: Path, registry: Loopback, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for arguments in ([""], ["alpha", ""]):
        run = Run(capsysbinary, "push", *arguments)
        assert (run.code, run.out) == (2, "")
        assert "an empty path names nothing" in run.err
    assert registry.requests == []


def test_a_revision_that_is_none_takes_every_skill_and_says_so(
    folder: Path, capsysbinary: Capture
) -> None:
    for revision in ("", "0" * 40):
        run = Run(capsysbinary, "push", "--changed-since", revision, "--dry-run", folder)
        assert (run.code, run.out.count("would be published")) == (0, 2)
        assert "No revision to compare with was given: every skill was taken." in run.err


def test_a_purge_asks_nobody_where_nobody_can_answer(
    registry: Loopback, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    run = Run(capsysbinary, "purge", "alpha", "1", "--reason", "A key")
    assert (run.code, run.out, "--yes answers before" in run.err) == (2, "", True)
    assert registry.requests == []


def test_who_is_not_known_is_told_where_to_look(registry: Loopback, capsysbinary: Capture) -> None:
    text = b'{"type": "x", "title": "Unauthorized", "status": 401, "code": "unauthenticated"}'
    headers = {"Content-Type": "application/problem+json"}
    registry.faults.append(Fault("GET /skills", 401, headers, text))
    run = Run(capsysbinary, "list")
    assert (run.code, "skillctl profile show" in run.err) == (1, True)
