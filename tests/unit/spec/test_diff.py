"""Comparing two states of a skill."""

from __future__ import annotations

from skill_registry.spec.diff import LONGEST, ChangeKind, Comparison, compare
from skill_registry.spec.model import SkillFile


def compared(
    old: dict[str, bytes], new: dict[str, bytes], limit: int = 10_000, *, executable: bool = False
) -> Comparison:
    return compare(
        {path: SkillFile(path, data) for path, data in old.items()},
        {path: SkillFile(path, data, executable) for path, data in new.items()},
        names=("v1", "v2"),
        limit=limit,
    )


def test_files_are_added_removed_and_changed_in_order_of_their_paths() -> None:
    found = compared({"b": b"x\n", "c": b"x\n", "d": b"x"}, {"a": b"x\n", "c": b"y\n", "d": b"x"})
    assert [(c.path, c.kind) for c in found.changes] == [
        ("a", ChangeKind.ADDED),
        ("b", ChangeKind.REMOVED),
        ("c", ChangeKind.CHANGED),
    ]
    assert found.text == (
        "--- /dev/null\n+++ v2/a\n@@ -0,0 +1 @@\n+x\n"
        "--- v1/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "--- v1/c\n+++ v2/c\n@@ -1 +1 @@\n-x\n+y\n"
    )
    assert not found.truncated


def test_equal_states_have_no_difference() -> None:
    assert compared({"a": b"x"}, {"a": b"x"}) == Comparison((), "", truncated=False)


def test_the_executable_bit_alone_is_a_change_of_mode() -> None:
    found = compared({"run": b"x"}, {"run": b"x"}, executable=True)
    assert [c.kind for c in found.changes] == [ChangeKind.MODE]
    assert found.text == "mode of run: 0644 -> 0755\n"


def test_a_change_of_content_and_mode_tells_both() -> None:
    found = compared({"run": b"x\n"}, {"run": b"y\n"}, executable=True)
    assert [c.kind for c in found.changes] == [ChangeKind.CHANGED]
    assert found.text.startswith("mode of run: 0644 -> 0755\n--- v1/run\n")


def test_empty_files_that_come_or_go_are_named() -> None:
    found = compared({"a": b""}, {"b": b""})
    assert found.text == "empty file a removed\nempty file b added\n"


def test_binary_files_are_named_and_not_shown() -> None:
    found = compared({"a.png": b"\xff\x00"}, {"a.png": b"\xff\x01"})
    assert found.text == "binary file a.png changed\n"
    assert compared({"a": b"x"}, {"a": b"\0\1"}).text == "binary file a changed\n"


def test_a_missing_last_line_end_is_told() -> None:
    found = compared({"a": b"x"}, {"a": b"x\n"})
    assert "-x\n\\ No newline at end of file\n+x\n" in found.text


def test_only_a_newline_ends_a_line() -> None:
    found = compared({"a": "one\u2028two\x0cthree\n".encode()}, {"a": b"1\n"})
    assert "-one\u2028two\x0cthree\n" in found.text


def test_the_text_is_cut_at_a_line_and_says_so() -> None:
    found = compared({"a": b""}, {"a": b"line\n" * 100}, limit=100)
    assert found.truncated
    assert len(found.text.encode()) <= 100 and found.text.endswith("\n")
    assert len(found.changes) == 1


def test_a_file_of_too_many_lines_is_named_and_not_compared() -> None:
    found = compared({"a": b"x\n"}, {"a": b"y\n" * (LONGEST + 1)})
    assert found.truncated
    assert found.text == f"file a changed: over {LONGEST} lines, not compared\n"
