"""Who may see a skill."""

from __future__ import annotations

import pytest

from skill_registry.spec.visibility import Viewer, may_see


@pytest.mark.parametrize(
    ("agents", "agent", "strict", "seen"),
    [
        (None, None, False, True),
        (None, "review", False, True),
        (["review"], "review", False, True),
        (["review"], "coding", False, False),
        (["review"], "", False, False),
        (["review"], None, False, True),
        ([], "review", False, False),
        ([""], "", False, False),
        (None, "review", True, False),
        (["review"], "review", True, True),
        (["review"], None, True, False),
        ([""], "", True, False),
    ],
)
def test_a_skill_is_seen_by_the_agents_that_it_names(
    agents: list[str] | None, agent: str | None, strict: bool, seen: bool
) -> None:
    assert may_see(agents=agents, min_tier=None, viewer=Viewer(agent), strict=strict) is seen


@pytest.mark.parametrize(
    ("min_tier", "tier", "seen"),
    [
        (None, None, True),
        ("lite", None, True),
        ("lite", "lite", True),
        ("ultra", None, False),
        ("ultra", "lite", False),
        ("ultra", "ultra", True),
        ("mega", "lite", False),
        ("mega", "ultra", True),
        ("ultra", "mega", False),
        (None, "mega", True),
    ],
)
def test_a_skill_is_hidden_from_a_lower_tier(
    min_tier: str | None, tier: str | None, seen: bool
) -> None:
    assert may_see(agents=None, min_tier=min_tier, viewer=Viewer(tier=tier)) is seen


def test_lists_are_disjoint_by_agent() -> None:
    skills = {
        "review-sql": ["reviewer"],
        "write-sql": ["builder"],
        "style": ["reviewer", "builder"],
    }

    def listed(agent: str) -> list[str]:
        viewer = Viewer(agent)
        return [n for n, a in skills.items() if may_see(agents=a, min_tier=None, viewer=viewer)]

    assert listed("reviewer") == ["review-sql", "style"]
    assert listed("builder") == ["write-sql", "style"]
    assert listed("general") == []
