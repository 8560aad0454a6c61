"""``q``: what is found by which words, and in which order."""

from __future__ import annotations

import pytest
from house import ADMIN, House

from skill_registry.catalog.filters import Filters
from skill_registry.catalog.principal import user_scope
from skill_registry.catalog.searching import words_of
from skill_registry.catalog.snapshot import Entry
from skill_registry.errors import RequestInvalid

OWN = user_scope("ann")


def skill(name: str, description: str = "Helps.", **more: object) -> Entry:
    return Entry(name, revision=1, version=1, description=description, **more)  # type: ignore[arg-type]


def found(house: House, query: str, **more: object) -> list[str]:
    filters = Filters.read(words=query)
    page = house.registry.listing.page(ADMIN, filters=filters, **more)  # type: ignore[arg-type]
    return [listed.entry.name for listed in page.skills]


@pytest.fixture
def house() -> House:
    house = House()
    house.put_catalog(
        "system",
        skill("review"),
        skill("code-review"),
        skill("reviewing-code"),
        skill("tagged", tags=("Review", "quality")),
        skill("half-tagged", tags=("reviewer",)),
        skill("described", "Does a review of code."),
        skill("half-described", "For reviewers."),
        skill("translated", descriptions={"zh": "审查代码。"}),
        skill("other"),
    )
    return house


def test_the_exact_name_comes_first_then_names_tags_and_descriptions(house: House) -> None:
    assert found(house, "review") == [
        "review",
        "code-review",
        "reviewing-code",
        "tagged",
        "half-tagged",
        "described",
        "half-described",
    ]


def test_every_word_has_to_be_found_wherever_it_is(house: House) -> None:
    assert found(house, "code review") == ["code-review", "reviewing-code", "described"]
    assert found(house, "quality tagged") == ["tagged"]
    assert found(house, "review nowhere") == []


def test_a_name_is_also_found_exactly_when_its_words_are_typed_with_blanks(house: House) -> None:
    house.put_catalog("system", skill("a-code-review"), skill("code-review"), version=2)
    assert found(house, "Code Review") == ["code-review", "a-code-review"]


def test_a_word_is_found_by_its_beginning_not_by_its_middle(house: House) -> None:
    assert "code-review" in found(house, "rev")
    assert found(house, "eview") == []


def test_equal_matches_are_in_the_order_of_their_names(house: House) -> None:
    house.put_catalog("system", skill("zeta", "One."), skill("alpha", "One."), version=2)
    assert found(house, "one") == ["alpha", "zeta"]


@pytest.mark.parametrize("query", ["审查", "代码", "码", "审查代码"])
def test_a_chinese_character_is_a_word_wherever_it_stands(house: House, query: str) -> None:
    assert found(house, query) == ["translated"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Code-Review, please!", ["code", "review", "please"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("ﬁle ①", ["file", "1"]),
        ("Ünïcode", ["ünïcode"]),
        ("数据 a分析b", ["数", "据", "a", "分", "析", "b"]),
        ("ﾃｽﾄ", ["テ", "ス", "ト"]),
        ("snake_case", ["snake", "case"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("·・~ _", []),
    ],
)
def test_words_are_alike_whatever_their_letter_case_or_form(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("query", ["", "   ", "*** !"])
def test_a_query_without_a_word_narrows_nothing(house: House, query: str) -> None:
    everything = sorted(found(house, ""))
    assert found(house, query) == everything
    assert len(everything) == 9


def test_a_query_has_at_most_200_characters_and_16_words() -> None:
    Filters.read(words="x" * 200)
    Filters.read(words=" ".join(f"w{n}" for n in range(16)) + " w1 w2")
    for query in (
        "x" * 201,
        " ".join(f"w{n}" for n in range(17)),
        "一二三四五六七八九十百千万亿兆京垓",
    ):
        with pytest.raises(RequestInvalid) as caught:
            Filters.read(words=query)
        assert caught.value.code == "filter_invalid"


def test_pages_of_a_search_follow_each_other_by_score_and_name(house: House) -> None:
    whole = found(house, "review")
    seen: list[str] = []
    cursor = None
    for _ in range(len(whole)):
        filters = Filters.read(words="review")
        page = house.registry.listing.page(ADMIN, filters=filters, limit=2, cursor=cursor)
        seen += [listed.entry.name for listed in page.skills]
        cursor = page.next
        if cursor is None:
            break
    assert seen == whole


def test_scopes_are_ranked_together_and_a_shadowed_skill_is_not_found_by_its_own_words(
    house: House,
) -> None:
    house.put_catalog(OWN, skill("other", "A review."), skill("review", "Mine."))
    names = found(house, "review", scopes=(OWN, "system"))
    assert names[:2] == ["review", "code-review"]
    assert names.index("described") < names.index("other")
    house.put_catalog(OWN, skill("described", "Says nothing."), version=2)
    assert "described" not in found(house, "review", scopes=(OWN, "system"))


def test_a_hidden_skill_is_not_found(house: House) -> None:
    house.put_catalog("system", skill("review", hidden=True), skill("code-review"), version=2)
    assert found(house, "review") == ["code-review"]


def test_a_search_looks_into_a_catalog_that_changed(house: House) -> None:
    assert found(house, "brand") == []
    house.put_catalog("system", skill("brand-new"), version=2)
    assert found(house, "brand") == ["brand-new"]
