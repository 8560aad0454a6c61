"""What a skill may be called."""

from __future__ import annotations

import pytest

from skill_registry.spec.model import Limits, Severity, has_errors
from skill_registry.spec.names import check_skill_name, is_skill_name, suggest_name


@pytest.mark.parametrize("name", ["a", "a1", "0", "bean-pots", "k" * 64, "12306", "null", "con"])
def test_lower_case_words_joined_by_hyphens_are_a_name(name: str) -> None:
    assert is_skill_name(name)
    assert check_skill_name(name) == []


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("", ["name_missing"]),
        (" ", ["name_missing"]),
        ("Bean Pots", ["name_characters"]),
        ("bean_pots", ["name_characters"]),
        ("café", ["name_characters"]),
        ("горшок", ["name_characters"]),
        ("bean\u200b-pots", ["name_characters"]),
        ("bean-pots ", ["name_characters"]),
        ("bean-pots\n", ["name_characters"]),
        ("\u2173-pots", ["name_characters"]),
        (".", ["name_characters"]),
        ("..", ["name_characters"]),
        ("a/b", ["name_characters"]),
        ("-a", ["name_hyphens"]),
        ("a-", ["name_hyphens"]),
        ("a--b", ["name_hyphens"]),
        ("-a--b", ["name_hyphens", "name_hyphens"]),
        ("k" * 65, ["name_too_long"]),
        ("-K" * 40, ["name_characters", "name_hyphens", "name_too_long"]),
    ],
)
def test_each_broken_rule_of_a_name_is_its_own_error(name: str, codes: list[str]) -> None:
    assert not is_skill_name(name)
    assert [found.code for found in check_skill_name(name)] == codes


def test_a_name_over_the_limit_says_both_numbers() -> None:
    (found,) = check_skill_name("beans", limits=Limits(name=4))
    assert (found.limit, found.actual) == (4, 5)


@pytest.mark.parametrize("name", ["claude-beans", "my-anthropic"])
def test_a_name_that_others_reserve_is_a_warning(name: str) -> None:
    found = check_skill_name(name)
    assert [one.severity for one in found] == [Severity.WARNING]
    assert not has_errors(found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Bean Pots!", "bean-pots"),
        ("Café--Log", "cafe-log"),
        ("горшок", None),
        ("K" * 99, "k" * 64),
    ],
)
def test_a_refusal_suggests_the_nearest_name(text: str, name: str | None) -> None:
    assert suggest_name(text) == name
    hint = check_skill_name(text)[0].hint
    assert hint == (f"Use {name}." if name else None)


def test_a_message_shows_what_cannot_be_seen() -> None:
    (found,) = check_skill_name("bean\u200bpots")
    assert "\\u200b" in found.message
    assert "\u200b" not in found.message
