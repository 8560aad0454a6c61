"""SKILL.md as bytes: encodings, fences, the exact body, and where a fault is."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from skill_registry.spec.frontmatter import Document, body_of, read_document
from skill_registry.spec.model import Limits, Severity

_HEAD = "---\nname: bean-pots\ndescription: Grows beans.\n---"


def read(text: str | bytes, *, tolerant: bool = False) -> Document:
    data = text if isinstance(text, bytes) else text.encode()
    return read_document(data, tolerant=tolerant)


def codes(document: Document) -> list[str]:
    return [found.code for found in document.diagnostics]


@pytest.mark.parametrize(
    "body",
    ["", "\nOne.\n", "    code first\n", "One.\r\n\r\n---\r\nTwo.", "\n\n", "  x  ", "---\n"],
)
def test_the_body_is_an_exact_slice_of_the_file(body: str) -> None:
    data = f"{_HEAD}\n{body}".encode()
    document = read_document(data)
    assert document.body == body
    assert data[document.body_offset :] == body.encode()
    assert body_of(data) == body


def test_line_ends_of_old_systems_part_lines_too() -> None:
    document = read("---\rname: bean-pots\rdescription: Grows beans.\r---\rOne.\r")
    assert document.mapping == {"name": "bean-pots", "description": "Grows beans."}
    assert document.body == "One.\r"


@pytest.mark.parametrize("text", ["# Beans\n", "---\nname: a\n", "\ufeff# Beans\n", ""])
def test_a_file_without_frontmatter_is_its_own_body(text: str) -> None:
    assert body_of(text.encode()) == text.removeprefix("\ufeff")


def test_a_byte_order_mark_is_in_neither_mapping_nor_body() -> None:
    document = read(f"\ufeff{_HEAD}\nOne.\n")
    assert list(document.mapping or ()) == ["name", "description"]
    assert document.body == "One.\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_refused_by_its_name(encoding: str) -> None:
    document = read(f"{_HEAD}\nOne.\n".encode(encoding))
    (found,) = document.diagnostics
    assert document.mapping is None
    assert found.code == "not_utf8"
    assert encoding[:6].upper() in found.message


def test_bytes_that_are_not_utf8_are_refused_with_their_place() -> None:
    data = _HEAD.encode() + b"\nOne.\nTw\xe9.\n"
    (strict,) = read(data).diagnostics
    (tolerant,) = read(data, tolerant=True).diagnostics
    assert (strict.code, strict.line, strict.column) == ("not_utf8", 6, 3)
    assert strict.severity is Severity.ERROR
    assert tolerant.severity is Severity.WARNING
    assert body_of(data) == "One.\nTw\ufffd.\n"


def test_a_colon_is_named_by_line_and_column_with_the_quoting_that_mends_it() -> None:
    document = read("---\nname: x\ndescription: a: b\n---\nBody.\n")
    (found,) = document.diagnostics
    assert (found.line, found.column, found.field) == (3, 15, "description")
    assert found.hint is not None
    assert found.hint.endswith('description: "a: b"')
    mended = found.hint.rpartition("value: ")[2]
    assert (read(f"---\nname: x\n{mended}\n---\nBody.\n").mapping or {})["description"] == "a: b"


def test_lines_above_the_fence_count() -> None:
    document = read("\n\n---\nname: x\ndescription: a: b\n---\nBody.\n")
    assert [(found.code, found.line) for found in document.diagnostics] == [
        ("blank_lines_above_frontmatter", 1),
        ("yaml_colon", 5),
    ]


def test_a_column_counts_characters_and_not_bytes() -> None:
    (found,) = read("---\nname: x\ndescription: 茶🍵: b\n---\nBody.\n").diagnostics
    assert found.column == 16


def test_equal_keys_are_named_with_both_lines() -> None:
    (found,) = read("---\nname: x\nlicense: a\nmetadata:\n  t: 1\n  t: 2\n---\nB\n").diagnostics
    assert (found.field, found.line, found.column) == ("metadata.t", 6, 3)
    assert "line 5" in found.message


def test_a_tab_is_named_and_shown_as_blanks() -> None:
    (found,) = read("---\nname: x\nmetadata:\n\towner: shed\n---\nB\n").diagnostics
    assert (found.line, found.column) == (4, 1)
    assert "tab" in found.message
    assert found.hint == "Write it as `  owner: shed`."


def test_a_nested_colon_is_shown_quoted() -> None:
    (found,) = read("---\nmetadata:\n  note: a: b\n---\nB\n").diagnostics
    assert found.hint == 'Put quotes round the value:   note: "a: b"'


def test_every_key_knows_its_place() -> None:
    document = read("---\nname: x\nmetadata:\n  a:\n    b: 1\n---\nB\n")
    place = document.place("metadata", "a", "b")
    assert (place.file, place.line, place.column) == ("SKILL.md", 5, 5)
    assert document.place("metadata", "a", "missing") == document.place("metadata", "a")
    assert document.place("missing").line is None


def test_only_the_plain_booleans_of_yaml_are_booleans() -> None:
    for typed, value in {"true": True, "false": False, "yes": "yes", "'true'": "true"}.items():
        document = read(f"---\ndisable-model-invocation: {typed}\nother: true\n---\nB\n")
        assert document.mapping == {"disable-model-invocation": value, "other": "true"}


def test_frontmatter_over_its_limit_is_not_parsed() -> None:
    keys = "".join(f"key{number}: v\n" for number in range(20_000))
    document = read(f"---\n{keys}---\nB\n")
    assert codes(document) == ["frontmatter_too_large"]
    assert document.mapping is None
    assert document.body == "B\n"


def test_a_bomb_is_refused_in_bounded_memory() -> None:
    aliases = "a: &a [x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)
    )
    deep = "a: " + "[" * 16_000
    tracemalloc.start()
    for block in (aliases, deep, "- " * 8_000, "? " * 8_000, "a:\n" * 5_000, "a: b: " * 2_500):
        document = read(f"---\n{block}\n---\nB\n")
        assert any(found.severity is Severity.ERROR for found in document.diagnostics)
        assert len(document.diagnostics) < 20
        assert len(json.dumps([d.to_dict() for d in document.diagnostics])) < 20_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 1024 * 1024


@pytest.mark.parametrize(
    "data", [b"\r\n" * 50_000 + b"x", b"---\n" * 50_000, b"---\n" + b"\r" * 90_000, b" " * 90_000]
)
def test_many_line_ends_take_no_longer_than_their_number(data: bytes) -> None:
    assert read_document(data).body_offset <= len(data)


def test_nesting_that_real_skills_have_is_read() -> None:
    lines = "".join("  " * depth + f"k{depth}:\n" for depth in range(40))
    document = read(f"---\n{lines}---\nB\n")
    assert document.diagnostics == ()
    json.dumps(document.mapping)


def test_a_large_skill_md_is_an_error_to_a_publish_only() -> None:
    data = f"{_HEAD}\nOne.\n".encode()
    limits = Limits(skill_md_bytes=10)
    (strict,) = read_document(data, limits=limits).diagnostics
    (tolerant,) = read_document(data, limits=limits, tolerant=True).diagnostics
    assert (strict.limit, strict.actual) == (10, len(data))
    assert (strict.severity, tolerant.severity) == (Severity.ERROR, Severity.WARNING)
