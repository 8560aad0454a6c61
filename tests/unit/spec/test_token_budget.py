"""A listing within a token budget: every name, descriptions cut alike, nothing lost in silence."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from skill_registry.spec.budget import ELLIPSIS, Fitted, estimated_tokens, fit, shorten
from skill_registry.spec.rendering import (
    MARKDOWN,
    XML_ELEMENT,
    Form,
    ListedSkill,
    guidance,
    render,
    render_markdown,
    xml_prompt,
)
from skill_registry.spec.validation import read_skill

_FORMS = {
    "markdown": MARKDOWN,
    "element": XML_ELEMENT,
    "prompt": xml_prompt(),
    "guidance": guidance(),
}
_each_form = pytest.mark.parametrize("form", _FORMS.values(), ids=_FORMS)

# Descriptions in 7,382 real skills: 191 characters at the median, 474 at p90, 1,024 allowed.
_LENGTHS = (40, 90, 140, 170, 190, 190, 240, 300, 470, 1_020)
_WORDS = ("reads", "<b>", "a", "&", "every", "report", "before", "then:", "writes", "茶記録", "it,")


def look_alikes(count: int) -> list[ListedSkill]:
    """Skills with names and descriptions as long as real ones are."""
    source = random.Random(50)
    skills = []
    for number in range(count):
        length = _LENGTHS[number % len(_LENGTHS)]
        words: list[str] = []
        while len(" ".join(words)) < length:
            words.append(source.choice(_WORDS))
        name = f"{source.choice(['csv', 'review', 'cloud-cost', 'incident'])}-keeper-{number:03d}"
        skills.append(ListedSkill(name, 12, " ".join(words)))
    return sorted(skills, key=lambda skill: skill.name)


@_each_form
@pytest.mark.parametrize("max_tokens", [1, 20, 200, 1_000, 2_000, 5_000, 50_000])
def test_the_listing_is_within_its_budget(form: Form, max_tokens: int) -> None:
    skills = look_alikes(40)
    fitted = fit(skills, max_tokens, form)
    if fitted.skills:
        assert estimated_tokens(render(fitted.skills, form)) <= max_tokens
    assert len(fitted.skills) + fitted.omitted == len(skills)
    assert [s.name for s in fitted.skills] == [s.name for s in skills[: len(fitted.skills)]]


def test_fifty_skills_of_real_length_keep_every_name_in_1500_tokens() -> None:
    skills = look_alikes(50)
    assert estimated_tokens(render_markdown(skills)) > 3_000
    fitted = fit(skills, 1_500)
    text = render_markdown(fitted.skills)
    assert estimated_tokens(text) <= 1_500
    assert all(f"**{skill.name}**" in text for skill in skills)
    assert fitted.omitted == 0
    assert 0 < fitted.shortened < 50


def test_any_fifty_real_skills_keep_every_name_in_1500_tokens(corpus: Path | None) -> None:
    folders = [corpus] if corpus else [Path(__file__).parents[3] / "skills"]
    metas = [
        read_skill(path.read_bytes(), directory=path.parent.name).meta
        for folder in folders
        for path in sorted(folder.rglob("SKILL.md"))
    ]
    skills = [ListedSkill(meta.name, 1, meta.description) for meta in metas if meta]
    assert skills
    for start in range(0, len(skills), 25):
        fitted = fit(skills[start : start + 50], 1_500)
        assert estimated_tokens(render_markdown(fitted.skills)) <= 1_500
        assert fitted.omitted == 0


def test_what_fits_is_left_as_it_is() -> None:
    skills = [ListedSkill("a", 1, "Two\nlines."), ListedSkill("b", 1, "")]
    text = render_markdown(skills)
    assert fit(skills, estimated_tokens(text)) == Fitted(tuple(skills))


def test_the_longest_descriptions_give_way_first_and_end_up_alike() -> None:
    short, *long = (
        ListedSkill("a", 1, "Short one."),
        *(
            ListedSkill(name, 1, "word " * size)
            for name, size in (("b", 40), ("c", 80), ("d", 200))
        ),
    )
    fitted = fit([short, *long], 100)
    assert fitted.skills[0] == short
    assert fitted.shortened == 3
    assert len({len(skill.description) for skill in fitted.skills[1:]}) == 1


def test_a_larger_budget_never_shows_less() -> None:
    skills = look_alikes(30)
    shown = [fit(skills, tokens) for tokens in range(400, 2_500, 60)]
    assert {fitted.omitted for fitted in shown} == {0}
    for small, large in itertools.pairwise(shown):
        assert all(
            len(a.description) <= len(b.description)
            for a, b in zip(small.skills, large.skills, strict=True)
        )


def test_the_same_skills_give_the_same_listing() -> None:
    assert fit(look_alikes(60), 1_200) == fit(look_alikes(60), 1_200)


@pytest.mark.parametrize("max_tokens", [300, 700, 1_300])
def test_every_cut_is_marked_and_at_the_end_of_a_word(max_tokens: int) -> None:
    skills = [ListedSkill(f"s{n}", 1, "alpha beta, gamma: (delta) " * 9) for n in range(30)]
    for skill in fit(skills, max_tokens).skills:
        assert skill.description.endswith(ELLIPSIS)
        words = skill.description.removesuffix(ELLIPSIS).split()
        assert all(word.strip(",:()") in {"alpha", "beta", "gamma", "delta"} for word in words)


def test_names_that_do_not_fit_are_counted_as_omitted() -> None:
    skills = [ListedSkill(f"skill-{n:03d}", 1, "Does things.") for n in range(100)]
    ten = "- **skill-000** (v:1): …\n" * 10
    fitted = fit(skills, estimated_tokens(ten))
    assert [skill.description for skill in fitted.skills] == [ELLIPSIS] * 10
    assert (fitted.shortened, fitted.omitted) == (10, 90)
    assert fit(skills, 1) == Fitted((), 0, 100)


def test_escapes_count_as_what_they_are() -> None:
    skills = [ListedSkill("a", 1, "& " * 200)]
    tokens = estimated_tokens(render(skills, XML_ELEMENT)) - 1
    fitted = fit(skills, tokens, XML_ELEMENT)
    assert fitted.shortened == 1
    assert estimated_tokens(render(fitted.skills, XML_ELEMENT)) <= tokens


def test_hidden_skills_cost_nothing() -> None:
    hidden = ListedSkill("by-hand", 1, "x " * 500, hidden=True)
    assert fit([hidden, ListedSkill("a", 1, "A.")], 10).skills == (ListedSkill("a", 1, "A."),)


def test_four_hundred_skills_with_chinese_among_them_stay_in_order() -> None:
    skills = [
        ListedSkill(f"skill-{n:03d}", 1, ("茶" if n % 3 == 0 else "word ") * 200)
        for n in range(400)
    ]
    fitted = fit(skills, 5_000)
    text = render_markdown(fitted.skills)
    assert len(text) <= 20_000
    assert [skill.name for skill in fitted.skills] == [skill.name for skill in skills]
    assert fitted.shortened == 400
    text.encode()


@pytest.mark.parametrize(
    ("text", "length", "cut"),
    [
        ("alpha beta gamma", 16, "alpha beta gamma"),
        ("alpha beta gamma", 15, "alpha beta…"),
        ("alpha beta gamma", 11, "alpha beta…"),
        ("alpha beta gamma", 10, "alpha…"),
        ("alpha, beta", 8, "alpha…"),
        ("alpha beta", 5, "…"),
        ("alpha beta", 1, "…"),
        ("茶記録を書く", 4, "茶記録…"),
        ("x" * 100, 30, "…"),
        ("x" * 100, 61, "x" * 60 + "…"),
        ("茶e\u0301茶", 3, "茶…"),
        ("👩‍🔬👩‍🔬", 5, "👩‍🔬…"),
        ("👩‍🔬👩‍🔬", 3, "…"),
        ("👍🏽👍🏽", 3, "👍🏽…"),
        ("👍🏽👍🏽", 2, "…"),
    ],
)
def test_a_cut_is_behind_a_word_and_never_inside_a_character(
    text: str, length: int, cut: str
) -> None:
    assert shorten(text, length) == cut
    assert len(cut) <= length


def test_a_token_is_four_characters_or_a_part_of_them() -> None:
    assert [estimated_tokens("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
