"""The programs inside the bundled skills do what their skills say, on good and on bad input."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SKILLS = Path(__file__).parents[2] / "skills"
PR = SKILLS / "pr-description"
CHECK = PR / "scripts" / "check_description.py"
COMPARE = SKILLS / "performance-optimization" / "scripts" / "compare.py"
EXAMPLE_COMMIT = "0123456789abcdef0123456789abcdef01234567"
PROGRAMS = [path for path in sorted(SKILLS.glob("*/scripts/*")) if os.access(path, os.X_OK)]

Map = dict[str, Any]
Save = Callable[[object], Path]


def run(program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)


def example() -> Map:
    loaded: Map = json.loads((PR / "references" / "example.json").read_text("utf-8"))
    return loaded


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, "utf-8", newline="\n")


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose head is the change that the skill's example describes."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder, "README.md", "same in both\n")
    commit(folder)
    git(folder, "checkout", "-q", "-b", "feature")
    for pointer in example()["pointers"]:
        anchor = pointer["anchor"]
        before, inside = anchor["from"] - 1, anchor["to"] - anchor["from"]
        lines = [*["filler"] * before, "    " + anchor["first_line"], *["more"] * inside]
        write(folder, anchor["path"], "\n".join(lines) + "\n")
    for entry in example()["rest"]:
        inner = "test_it.py" if entry["path"].endswith("/") else ""
        write(folder, entry["path"] + inner, "text\n")
    commit(folder)
    return folder


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write_map(document: object) -> Path:
        path = tmp_path / "map.json"
        path.write_text(json.dumps(document), "utf-8")
        return path

    return write_map


def rules(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return `where rule` of every problem that was printed."""
    return [" ".join(line.split(": ")[:2]) for line in done.stderr.splitlines()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_a_program_explains_itself_and_leaves_nothing_behind(program: Path) -> None:
    done = run(program, "--help")
    assert done.returncode == 0
    assert "Exit status:" in done.stdout
    assert not (program.parent / "__pycache__").exists()


def test_the_programs_are_the_two_that_the_skills_name() -> None:
    assert PROGRAMS == [COMPARE, CHECK]


def test_the_table_of_the_skill_states_the_caps_that_the_program_enforces() -> None:
    text = (PR / "SKILL.md").read_text("utf-8")
    rows = dict(re.findall(r"(?m)^\| `([^`]+)` \| (.+) \|$", text))
    fields = dict(re.split(r"  +", line) for line in run(CHECK, "fields").stdout.splitlines())
    assert f"there are {fields.pop('all before the fold')}" in " ".join(text.split())
    for field, cap in fields.items():
        row = rows[max((key for key in rows if field.startswith(key)), key=len)]
        numbers = re.findall(r"\d+", cap)
        if numbers:
            assert numbers[-1] in re.findall(r"\d+", row), field
        else:
            assert all(f"`{state}`" in row for state in cap.split(" | ")), field


def test_the_example_fulfils_the_contract_and_renders_to_the_body_beside_it(
    repository: Path,
) -> None:
    map_path = PR / "references" / "example.json"
    place = ("--repo", repository, "--base", "main")
    checked = run(CHECK, "check", map_path, *place)
    assert (checked.returncode, checked.stderr) == (0, "")
    head = git(repository, "rev-parse", "HEAD")
    assert checked.stdout.startswith(f"ok at {head}: ")
    body = run(CHECK, "render", map_path, *place, "--slug", "acme/exports")
    golden = (PR / "references" / "example.md").read_text("utf-8")
    assert body.stdout.replace(head, EXAMPLE_COMMIT) == golden
    title = run(CHECK, "render", map_path, *place, "--slug", "acme/exports", "--title")
    assert title.stdout == example()["title"] + "\n"


def test_a_check_without_a_base_says_that_anchors_were_not_verified() -> None:
    done = run(CHECK, "check", PR / "references" / "example.json")
    assert done.returncode == 0
    assert "not verified" in done.stdout


def test_paths_count_from_the_root_whatever_the_folder_and_the_settings(repository: Path) -> None:
    git(repository, "config", "diff.relative", "true")
    git(repository, "config", "diff.interHunkContext", "9")
    place = ("--repo", repository / "exports", "--base", "main")
    done = run(CHECK, "check", PR / "references" / "example.json", *place)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_push_that_moves_lines_is_noticed_and_mended(repository: Path, save: Save) -> None:
    moved = repository / "exports" / "store.py"
    moved.write_text("new\nnew\n" + moved.read_text("utf-8"), "utf-8")
    commit(repository)
    path = save(example())
    checked = run(CHECK, "check", path, "--repo", repository, "--base", "main")
    assert checked.returncode == 1
    assert rules(checked) == ["pointers[0].anchor moved"]
    mended = run(CHECK, "relocate", path, "--repo", repository)
    assert mended.returncode == 0
    anchor = json.loads(mended.stdout)["pointers"][0]["anchor"]
    assert (anchor["from"], anchor["to"]) == (50, 65)
    again = run(
        CHECK, "check", save(json.loads(mended.stdout)), "--repo", repository, "--base", "main"
    )
    assert again.returncode == 0


def test_an_anchor_that_occurs_twice_is_left_to_the_author(repository: Path, save: Save) -> None:
    anchor = example()["pointers"][0]["anchor"]
    write(repository, anchor["path"], f"new\n{anchor['first_line']}\n{anchor['first_line']}\n")
    commit(repository)
    done = run(CHECK, "relocate", save(example()), "--repo", repository)
    assert done.returncode == 1
    assert "occurs 2 times" in done.stderr


def test_every_changed_file_is_covered_and_nothing_else_is(repository: Path, save: Save) -> None:
    write(repository, "exports/retry.py", "new\n")
    git(repository, "rm", "-q", "docs/exports.md")
    commit(repository)
    done = run(CHECK, "check", save(example()), "--repo", repository, "--base", "main")
    assert rules(done) == ["rest uncovered", "rest[2] not_changed"]
    assert "exports/retry.py" in done.stderr


@pytest.mark.parametrize(
    ("anchor", "rule"),
    [
        ({"path": "gone.py", "from": 1, "to": 1, "first_line": "text"}, "not_at_head"),
        ({"path": "README.md", "from": 1, "to": 1, "first_line": "same in both"}, "not_changed"),
        ({"path": "docs/exports.md", "from": 1, "to": 9, "first_line": "text"}, "past_end"),
        ({"path": "docs/exports.md", "from": 1, "to": 1, "first_line": "other"}, "moved"),
    ],
)
def test_an_anchor_is_verified_against_the_head(
    repository: Path, save: Save, anchor: Map, rule: str
) -> None:
    document = example()
    document["pointers"][1]["anchor"] = anchor
    document["rest"].append({"path": "exports/send.py", "note": "Listed instead."})
    done = run(CHECK, "check", save(document), "--repo", repository, "--base", "main")
    assert rules(done) == [f"pointers[1].anchor {rule}"]


def test_an_anchor_touches_a_changed_line_and_a_gap_counts_as_one(
    repository: Path, save: Save
) -> None:
    git(repository, "checkout", "-q", "main")
    write(repository, "rules.txt", "".join(f"rule number {n}\n" for n in range(1, 31)))
    commit(repository)
    git(repository, "checkout", "-q", "-b", "other")
    kept = [n for n in range(1, 31) if n not in (20, 21)]
    write(repository, "rules.txt", "".join(f"rule number {n}\n" for n in kept))
    commit(repository)
    found = {}
    for line in (5, 18, 19, 20, 21):
        document = example() | {"rest": []}
        document["pointers"] = document["pointers"][:1]
        document["pointers"][0]["anchor"] = {
            "path": "rules.txt",
            "from": line,
            "to": line,
            "first_line": f"rule number {kept[line - 1]}",
        }
        done = run(CHECK, "check", save(document), "--repo", repository, "--base", "main")
        found[line] = rules(done)
    off = ["pointers[0].anchor not_in_diff"]
    assert found == {5: off, 18: off, 19: [], 20: [], 21: off}


def test_no_pointer_is_allowed_only_where_no_line_is_left(repository: Path, save: Save) -> None:
    git(repository, "checkout", "-q", "main")
    git(repository, "checkout", "-q", "-b", "removal")
    git(repository, "rm", "-q", "README.md")
    commit(repository)
    document = example() | {"pointers": [], "rest": [{"path": "README.md", "note": "Removed."}]}
    path = save(document)
    assert run(CHECK, "check", path, "--repo", repository, "--base", "main").returncode == 0
    write(repository, "README.txt", "a line to point at\n")
    commit(repository)
    done = run(CHECK, "check", path, "--repo", repository, "--base", "main")
    assert "pointers count" in rules(done)


def without(document: Map, key: str) -> Map:
    return {name: value for name, value in document.items() if name != key}


SECRET = "ghp" + "_" + "y1" * 12


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (without(example(), "risks"), "map missing"),
        (example() | {"sha": "x"}, "map unknown"),
        ([], "map type"),
        (example() | {"title": "x" * 73}, "title too_long"),
        (example() | {"title": "Stop it."}, "title title_period"),
        (example() | {"summary": "  "}, "summary too_short"),
        (example() | {"summary": "one\ntwo"}, "summary control"),
        (example() | {"why": 5}, "why type"),
        (example() | {"pointers": example()["pointers"] * 3}, "pointers count"),
        (example() | {"validation": []}, "validation count"),
        (example() | {"rest": [{"path": "../x", "note": "out"}]}, "rest[0].path path"),
        (example() | {"risks": [{"risk": "x"}]}, "risks[0] missing"),
        (
            example() | {"validation": [{"claim": "c", "proof": "p", "state": "ok"}]},
            "validation[0].state state",
        ),
        (example() | {"why": "Broken since 3f2a9c1."}, "why commit_id"),
        (example() | {"why": "See https://example.org/a/b/blob/main/x.py"}, "why permalink"),
        (example() | {"why": f"Use {SECRET} to try."}, "why secret"),
        (example() | {"why": "https://example.org/f?X-Amz-Signature=1"}, "why signed_url"),
        (example() | {"why": "Run /home/me/project/run"}, "why local_path"),
        (example() | {"why": "So:\n```\ncode"}, "why code_block"),
        (example() | {"why": "So:\n@@ -1,2 +1,2 @@"}, "why code_block"),
        (example() | {"why": "<details>more"}, "why html"),
        (example() | {"why": "As @someone said."}, "why mention"),
    ],
)
def test_a_map_that_breaks_the_contract_is_refused_by_the_rule_it_breaks(
    save: Save, document: object, expected: str
) -> None:
    done = run(CHECK, "check", save(document))
    assert done.returncode == 1
    assert expected in rules(done)
    assert SECRET not in done.stderr


def test_ordinary_prose_is_not_mistaken_for_what_is_never_embedded(save: Save) -> None:
    why = "1234567 rows, a<b, me@example.org, `@cache`, `list<str>`, decade, /tmp, token: opaque."
    done = run(CHECK, "check", save(example() | {"why": why}))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "change",
    [
        {"to": 88},
        {"from": 0},
        {"from": True},
        {"from": 70},
        {"path": "/etc/passwd"},
        {"path": "a\\b"},
        {"first_line": "}"},
        {"first_line": " padded text"},
    ],
)
def test_an_anchor_of_wrong_form_is_refused(save: Save, change: Map) -> None:
    document = example()
    document["pointers"][0]["anchor"] |= change
    done = run(CHECK, "check", save(document))
    assert done.returncode == 1
    assert all(rule.startswith("pointers[0].anchor") for rule in rules(done))


def test_the_part_above_the_fold_has_a_cap_of_its_own(save: Save) -> None:
    document = example() | {"why": "w" * 800}
    document["pointers"] = [
        pointer | {"note": "n" * 320, "look_for": "l" * 160} for pointer in document["pointers"]
    ]
    done = run(CHECK, "check", save(document))
    assert rules(done) == ["map above_fold"]


@pytest.mark.parametrize("text", ["", "{", '{"title": "a", "title": "b"}', "[" * 100_000])
def test_a_file_that_is_not_a_map_ends_with_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.json"
    path.write_text(text, "utf-8")
    done = run(CHECK, "check", path)
    assert done.returncode == 2
    assert done.stderr.startswith("check_description.py: ") and done.stderr.count("\n") == 1


def test_an_unknown_revision_ends_with_one_sentence(repository: Path) -> None:
    path = PR / "references" / "example.json"
    for options in (("--base", "nowhere"), ("--base", "main", "--head", "--all")):
        done = run(CHECK, "check", path, "--repo", repository, *options)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_compare_measures_both_commands_and_reports_the_same_as_json() -> None:
    done = run(COMPARE, "--runs", "5", "--warmup", "0", "--json", *[f"'{sys.executable}' -c 0"] * 2)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["pairs"] == 5
    assert 0 < result["low"] <= result["high"]
    assert result["verdict"] in {"B is faster", "B is slower", "no difference shown"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-program-here", "true"),
        (f"'{sys.executable}' -c 'raise SystemExit(3)'", "true"),
        ("--runs", "2", "true", "true"),
        ("'unclosed", "true"),
        ("", "true"),
        ("true",),
    ],
)
def test_compare_refuses_what_it_cannot_measure(arguments: tuple[str, ...]) -> None:
    done = run(COMPARE, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "compare.py: " in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("seconds_b", "verdict"),
    [
        ([0.50, 0.51, 0.52], "B is faster"),
        ([2.00, 2.10, 2.20], "B is slower"),
        ([1.00, 1.01, 1.02], "no difference shown"),
        ([0.20, 1.00, 5.00], "no difference shown"),
    ],
)
def test_compare_claims_a_difference_only_when_the_whole_interval_shows_it(
    seconds_b: list[float], verdict: str
) -> None:
    judge = runpy.run_path(str(COMPARE))["judge"]
    pairs = [(a, b) for a, b in zip([1.00, 1.01, 1.02] * 6, seconds_b * 6, strict=True)]
    assert judge(pairs, 0.02, False).verdict == verdict
