"""The YAML loader: the same answers with and without libyaml."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from skill_registry.spec.loader import FrontmatterHandler, PureTextLoader, TextLoader, load_block

_LOADERS = [TextLoader, PureTextLoader]

_SOUND = {
    "a: 1.10\nb: NO\nc: 2025-01-05\nd: 12:30\ne: 0123\nf: ~\ng:\n": {
        "a": "1.10",
        "b": "NO",
        "c": "2025-01-05",
        "d": "12:30",
        "e": "0123",
        "f": "~",
        "g": "",
    },
    "a: {b: [c, {d: e}], f: 'g'}\n": {"a": {"b": ["c", {"d": "e"}], "f": "g"}},
    "a: >-\n  b\n  c\nd: |\n  e\n\n  f\n": {"a": "b c", "d": "e\n\nf\n"},
    "1: a\non: b\n? c\n: d\n'e f': g\n": {"1": "a", "on": "b", "c": "d", "e f": "g"},
    "<<: {a: b}\n": {"<<": {"a": "b"}},
}


@pytest.mark.parametrize("loader", _LOADERS)
@pytest.mark.parametrize("text", list(_SOUND))
def test_scalars_are_text_as_typed(loader: Any, text: str) -> None:
    loaded = FrontmatterHandler().load(text, Loader=loader)
    assert loaded.value == _SOUND[text]
    assert loaded.oddities == []
    json.dumps(loaded.value)


@pytest.mark.parametrize("loader", _LOADERS)
@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a: &b c\nd: *b\n", ["yaml_anchor", "yaml_alias"]),
        ("a: !!int 3\n", ["yaml_tag"]),
        ("!!str a: b\n", ["yaml_tag"]),
        ("a: 1\na: 2\n", ["duplicate_key"]),
        ("[a]: b\nc: d\n", ["key_not_text"]),
        ("a: *unknown\n", ["yaml_alias"]),
    ],
)
def test_what_skills_do_not_use_is_noted_and_never_followed(
    loader: Any, text: str, codes: list[str]
) -> None:
    loaded = FrontmatterHandler().load(text, Loader=loader)
    assert [oddity.code for oddity in loaded.oddities] == codes


@pytest.mark.parametrize("loader", _LOADERS)
@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: b: c",
        'a: "\\ud800"',
        '"\\ud800": a',
        'a: "\\UFFFFFFFF"',
        "a\n--- b\n",
        "- " * 99,
    ],
)
def test_what_is_not_yaml_raises_one_kind_of_error(loader: Any, text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        FrontmatterHandler().load(text, Loader=loader)


def test_a_block_without_content_is_nothing() -> None:
    for text in ("", "# only a comment\n", "\n\n"):
        assert load_block(text).value is None


def test_an_index_counts_code_points() -> None:
    assert load_block("a: 茶🍵\nb: c\n").keys == {("a",): 0, ("b",): 6}
