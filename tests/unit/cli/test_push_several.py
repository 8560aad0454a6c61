"""push of several paths: what counts as a skill, a result for each, and what stops a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from house import skill_zip
from loopback import Fault, Loopback
from trees import grow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_UPLOAD = re.compile(r"/uploads/[^/]+/complete")


def skill_md(name: str) -> str:
    return f"---\nname: {name}\ndescription: Does one thing.\n---\nDo it.\n"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback() as running:
        monkeypatch.setenv("SKILL_REGISTRY_URL", running.url)
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three skills at several depths, and what is none."""
    skills = {"beta": "beta", "alpha": "alpha", "deep/er/gamma": "gamma"}
    files = {f"{path}/SKILL.md": skill_md(name) for path, name in skills.items()}
    others = {
        "alpha/examples/inner/SKILL.md": skill_md("inner"),
        "node_modules/x/SKILL.md": skill_md("module"),
        ".hidden/SKILL.md": skill_md("hidden"),
        "ignored/SKILL.md": skill_md("ignored"),
        ".gitignore": "ignored/\n",
        "README.md": "# Ours\n",
    }
    return grow(tmp_path / "skills", {**files, **others})


def many(root: Path, count: int) -> Path:
    names = [f"skill-{number:02}" for number in range(count)]
    return grow(root, {f"{name}/SKILL.md": skill_md(name) for name in names})


def test_a_folder_stands_for_every_skill_below_it(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", folder)
    assert (run.code, run.err) == (0, "3 published, 0 refused.\n")
    assert run.out.splitlines() == [
        f"Published {name} v:1 in system." for name in ("alpha", "beta", "gamma")
    ]
    assert registry.house.listed() == {"alpha": 1, "beta": 1, "gamma": 1}
    assert "examples/inner/SKILL.md" in registry.house.tree("alpha")


def test_results_come_in_the_order_of_the_paths(
    folder: Path, tmp_path: Path, capsysbinary: Capture
) -> None:
    (tmp_path / "any.zip").write_bytes(skill_zip("zipped"))
    run = Run(capsysbinary, "push", folder / "beta", tmp_path / "any.zip", folder / "alpha")
    assert re.findall(r"Published (\S+)", run.out) == ["beta", "zipped", "alpha"]


def test_a_directory_that_is_named_twice_is_pushed_once(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", folder / "beta", folder, f"{folder}/beta/", "--json")
    assert (run.code, run.document()["published"]) == (0, 3)
    assert registry.house.listed() == {"alpha": 1, "beta": 1, "gamma": 1}


def test_a_skill_that_is_refused_stops_no_other(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    (folder / "alpha/SKILL.md").write_text("---\nname: alpha\ndescription: a: b\n---\nx\n")
    run = Run(capsysbinary, "push", folder)
    assert (run.code, run.out) == (
        1,
        "Published beta v:1 in system.\nPublished gamma v:1 in system.\n",
    )
    lines = run.err.splitlines()
    assert lines[0].startswith(f"{folder}/alpha: error skill_invalid: ")
    assert any(line.startswith(f"{folder}/alpha/SKILL.md:3:15: error yaml_colon") for line in lines)
    assert lines[-1] == "2 published, 1 refused."


def test_json_has_a_result_for_each_path(folder: Path, capsysbinary: Capture) -> None:
    (folder / "alpha/SKILL.md").write_text("no frontmatter")
    (folder / "beta/link").symlink_to("SKILL.md")
    run = Run(capsysbinary, "push", folder, "--json")
    document = run.document()
    assert (run.code, run.err) == (1, "")
    assert (document["published"], document["refused"]) == (2, 1)
    refused, beta, gamma = document["results"]
    assert [each["path"] for each in document["results"]] == [
        f"{folder}/{name}" for name in ("alpha", "beta", "deep/er/gamma")
    ]
    assert (refused["state"], refused["status"], refused["code"]) == (
        "refused",
        422,
        "skill_invalid",
    )
    assert "frontmatter_missing" in [each["code"] for each in refused["diagnostics"]]
    assert (beta["state"], beta["version"]) == ("published", 1)
    assert [each["code"] for each in beta["diagnostics"]] == ["link_skipped"]
    assert (gamma["name"], gamma["diagnostics"]) == ("gamma", [])


def test_a_folder_with_one_skill_answers_as_a_folder(folder: Path, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "push", folder / "deep", "--json")
    assert [each["name"] for each in run.document()["results"]] == ["gamma"]


def test_a_folder_without_a_skill_is_refused(
    tmp_path: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    grow(tmp_path, {"README.md": "# Nothing\n"})
    run = Run(capsysbinary, "push", tmp_path)
    assert run.code == 1
    assert run.err.startswith("skill_invalid: ") and "hint: Add a SKILL.md." in run.err
    assert Run(capsysbinary, "push", tmp_path, "--json").document()["code"] == "skill_invalid"
    assert registry.requests == []


def test_what_is_nearly_a_skill_is_told(folder: Path, capsysbinary: Capture) -> None:
    (folder / "beta/SKILL.md").rename(folder / "beta/skill.md")
    run = Run(capsysbinary, "push", folder)
    assert (run.code, f"{folder}/beta/skill.md: warning " in run.err) == (0, True)
    alone = Run(capsysbinary, "push", folder / "beta")
    assert alone.out == "Published beta v:1 in system.\n"


def test_skills_of_one_name_are_refused_before_anything_is_sent_for_them(
    folder: Path, tmp_path: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    grow(tmp_path / "other", {"copy/SKILL.md": skill_md("alpha")})
    (tmp_path / "a.zip").write_bytes(skill_zip("alpha"))
    paths = (folder, tmp_path / "other/copy", tmp_path / "a.zip")
    run = Run(capsysbinary, "push", *paths, "--json")
    document = run.document()
    assert (run.code, document["published"], document["refused"]) == (1, 2, 3)
    refused = [each for each in document["results"] if each["state"] == "refused"]
    assert {each["code"] for each in refused} == {"name_duplicate"}
    named = f"{folder}/alpha, {tmp_path}/other/copy, {tmp_path}/a.zip"
    assert all(named in each["detail"] for each in refused)
    assert registry.house.listed() == {"beta": 1, "gamma": 1}
    assert registry.seen().count("POST /uploads") == 2


def test_a_skill_costs_two_requests_besides_its_upload(
    tmp_path: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "push", many(tmp_path, 30)).code == 0
    seen = [_UPLOAD.sub("/complete", each) for each in registry.seen()]
    assert {each: seen.count(each) for each in seen} == dict.fromkeys(
        ("POST /uploads", "PUT /s3", "POST /complete"), 30
    )


@pytest.mark.parametrize("jobs", ["1", "3", "32"])
def test_as_many_jobs_as_are_asked_for_publish_the_same(
    tmp_path: Path, jobs: str, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", many(tmp_path, 9), "--jobs", jobs)
    names = [f"skill-{number:02}" for number in range(9)]
    assert re.findall(r"Published (\S+)", run.out) == names
    assert registry.house.listed() == dict.fromkeys(names, 1)


@pytest.mark.parametrize("jobs", ["0", "-1", "x"])
def test_a_number_of_jobs_that_is_none_is_wrong_usage(
    folder: Path, jobs: str, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "push", folder, f"--jobs={jobs}").code == 2


def test_a_version_that_is_expected_goes_with_one_skill(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", folder, "--if-version", "1")
    assert (run.code, "3 are meant" in run.err) == (2, True)
    assert registry.requests == []
    assert Run(capsysbinary, "push", folder / "beta").code == 0
    assert Run(capsysbinary, "push", folder / "beta", "--if-version", "1").code == 0


def test_without_a_registry_the_rest_is_not_tried(tmp_path: Path, capsysbinary: Capture) -> None:
    with Loopback() as gone:
        url = gone.url
    run = Run(capsysbinary, "--url", url, "push", many(tmp_path, 12), "--jobs", "2", "--json")
    document = run.document()
    assert (run.code, document["published"]) == (2, 0)
    assert document["refused"] <= 2
    assert document["refused"] + document["not_tried"] == 12
    assert document["results"][0]["code"] == "registry_unreachable"
    assert document["results"][-1]["state"] == "not_tried"


@pytest.mark.parametrize(("status", "code"), [(401, 1), (403, 1)])
def test_who_may_not_write_at_all_is_told_once(
    tmp_path: Path, status: int, code: int, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults += [Fault("POST /uploads", status)] * 12
    run = Run(capsysbinary, "push", many(tmp_path, 12), "--jobs", "1")
    assert (run.code, run.out, len(registry.requests)) == (code, "", 1)
    assert run.err.count("error ") == 1
    assert f"Not tried: {tmp_path}/skill-01, " in run.err and " and 1 more.\n" in run.err
    assert run.err.endswith("0 published, 1 refused, 11 not tried.\n")


def test_a_registry_that_fails_again_and_again_is_left_alone(
    tmp_path: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults += [Fault("POST /uploads", 503, {"Retry-After": "3600"})] * 12
    run = Run(capsysbinary, "push", many(tmp_path, 12), "--jobs", "1")
    assert (run.code, len(registry.requests)) == (2, 3)
    assert run.err.endswith("0 published, 3 refused, 9 not tried.\n")


def test_one_failure_of_the_registry_stops_no_other(
    tmp_path: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("POST /uploads", 503, {"Retry-After": "3600"}))
    run = Run(capsysbinary, "push", many(tmp_path, 5), "--jobs", "1")
    assert (run.code, run.err.splitlines()[-1]) == (2, "4 published, 1 refused.")
    assert len(registry.house.listed()) == 4


def test_paths_may_have_blanks_and_letters_of_any_script(
    tmp_path: Path, capsysbinary: Capture
) -> None:
    odd = grow(
        tmp_path, {"mit Leer/über\nall/SKILL.md": skill_md("odd"), "b/SKILL.md": skill_md("b")}
    )
    run = Run(capsysbinary, "push", odd)
    assert (run.code, re.findall(r"Published (\S+)", run.out)) == (0, ["b", "odd"])
    (odd / "mit Leer/über\nall/SKILL.md").write_text("no frontmatter")
    refused = Run(capsysbinary, "push", odd)
    shown = f"{tmp_path}/mit Leer/über\\u000aall"
    assert refused.err.startswith(f"{shown}: error skill_invalid: ")
    assert f"\n{shown}/SKILL.md:1" in refused.err


def test_a_file_that_is_no_archive_is_refused_beside_others(
    folder: Path, tmp_path: Path, capsysbinary: Capture
) -> None:
    (tmp_path / "no.zip").write_text("no")
    run = Run(capsysbinary, "push", tmp_path / "no.zip", folder / "beta")
    assert (run.code, run.out) == (1, "Published beta v:1 in system.\n")
    assert f"{tmp_path}/no.zip: error skill_invalid: " in run.err


def test_a_path_that_is_not_there_is_wrong_usage(
    folder: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "push", folder, folder / "nothing")
    assert (run.code, f"there is no {folder}/nothing" in run.err) == (2, True)
    assert registry.requests == []
