"""What a skill's frontmatter says, as JSON and as tags."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skill_registry.spec.model import SkillMeta


def test_its_json_form_has_no_empty_member_and_keeps_false() -> None:
    assert SkillMeta("ant", "Digs.").to_dict() == {
        "name": "ant",
        "description": "Digs.",
        "disable_model_invocation": False,
    }


def test_its_json_form_is_the_same_after_a_journey() -> None:
    meta = SkillMeta(
        "ant",
        "Digs.",
        allowed_tools=("a", "b"),
        agents=("dba",),
        dependencies={"python": ("x",)},
        metadata={"deep": [{"er": ["x"]}]},
    )
    form = meta.to_dict()
    assert form == json.loads(json.dumps(form))
    assert (form["allowed_tools"], form["dependencies"]) == (["a", "b"], {"python": ["x"]})


@pytest.mark.parametrize(
    ("metadata", "extra", "tags"),
    [
        ({"tags": ["a", "b"]}, {"tags": ["c"]}, ("a", "b")),
        ({}, {"tags": "a, b c"}, ("a", "b", "c")),
        ({"tags": {"a": "b"}}, {}, ()),
        ({}, {}, ()),
    ],
)
def test_tags_are_a_list_or_words(
    metadata: dict[str, Any], extra: dict[str, Any], tags: tuple[str, ...]
) -> None:
    assert SkillMeta("ant", "Digs.", metadata=metadata, extra=extra).tags == tags
