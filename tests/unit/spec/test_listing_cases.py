"""Every case of ``cases/listings.jsonl``: the text that goes into a prompt."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from case_inputs import Case, ids, read_cases

from skill_registry.spec.rendering import (
    MARKDOWN,
    VIEW_TOOL,
    XML_ELEMENT,
    Form,
    ListedSkill,
    guidance,
    render,
    xml_prompt,
)

_CASES = read_cases("listings")


def form_of(case: Case) -> Form:
    view_tool = case.get("view_tool", VIEW_TOOL)
    forms = {
        "markdown": MARKDOWN,
        "element": XML_ELEMENT,
        "xml": xml_prompt(view_tool),
        "guidance": guidance(view_tool),
    }
    return forms[case["form"]]


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_a_listing_shows_what_it_should_and_no_more(case: Case) -> None:
    skills = [ListedSkill(**skill) for skill in case["skills"]]
    text = render(skills, form_of(case))
    assert text == case.get("equals", text)
    assert [part for part in case.get("has", ()) if part not in text] == []
    assert [part for part in case.get("lacks", ()) if part in text] == []
    assert {part: text.count(part) for part in case.get("counts", {})} == case.get("counts", {})


def test_elements_hold_the_descriptions_as_they_are() -> None:
    for case in _CASES:
        if case["form"] == "element":
            skills = [ListedSkill(**skill) for skill in case["skills"]]
            root = ElementTree.fromstring(render(skills, XML_ELEMENT))
            assert [skill.findtext("description") for skill in root] == [
                skill.description for skill in skills
            ]
