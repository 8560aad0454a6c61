"""Options of a skillset: what means nothing is refused when it is made."""

from __future__ import annotations

from typing import Any

import pytest

from skill_registry.agent.skillset import AsyncSkillset, Skillset
from skill_registry.errors import RequestInvalid


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agnet", "review"),
        ("form", "yaml"),
        ("max_tokens", "x"),
        ("max_tokens", -5),
        ("max_tokens", 0),
        ("tier", "ultraa"),
        ("agent", 7),
        ("writing_rules", 7),
        ("publish", 3),
        ("lock", "skills.lock"),
    ],
)
@pytest.mark.parametrize("kind", [Skillset, AsyncSkillset])
def test_an_option_that_means_nothing_is_refused_by_its_name(
    kind: Any, name: str, value: object
) -> None:
    with pytest.raises(RequestInvalid, match=name) as refused:
        kind(None, **{name: value})
    assert refused.value.code == "option_invalid"


def test_a_sync_skillset_does_not_take_an_async_callback() -> None:
    async def publish(_: object) -> None:
        return

    with pytest.raises(RequestInvalid, match="await"):
        Skillset(None, publish=publish)
    assert AsyncSkillset(None, publish=publish).skills == ()


def test_one_text_is_meant_as_one_and_a_tool_is_offered_once() -> None:
    skills = Skillset(None, scopes="system", tools=("view_skill", "view_skill"))
    assert skills.tools == ("view_skill",)
    assert skills._session._options.query.scopes == ("system",)
