"""Which of several skills with one name a caller gets from directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from skill_registry.agent.local import LocalSource
from skill_registry.agent.source import SkillQuery
from skill_registry.errors import SkillNotFound


def _skill(folder: Path, name: str, says: str, head: str = "") -> None:
    (folder / name).mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: The {says}.\n{head}---\n{says}\n"
    (folder / name / "SKILL.md").write_text(text)


def _shared(root: Path) -> LocalSource:
    """A skill of one name in the user's place, in the project's, and in a named path."""
    _skill(root / "home/.agents/skills", "ant", "user's")
    _skill(root / "here/.agents/skills", "ant", "project's")
    _skill(root / "extra", "ant", "path's")
    return LocalSource(root / "extra", defaults=True, home=root / "home", cwd=root / "here")


@pytest.mark.parametrize(
    ("scopes", "says"),
    [
        ((), "user's"),
        (("project",), "project's"),
        (("project", "user"), "project's"),
        (("path", "project", "user"), "path's"),
        (("system", "path"), "path's"),
    ],
)
def test_scopes_are_where_to_look_in_order_of_precedence(
    tmp_path: Path, scopes: tuple[str, ...], says: str
) -> None:
    source, query = _shared(tmp_path), SkillQuery(scopes=scopes)
    (listed,) = source.list_all(query).skills
    view, copy = source.view_skill("ant", query=query), source.load_skill("ant", query=query)
    assert copy is not None
    assert listed.description == f"The {says}."
    assert view.data == f"{says}\n".encode()
    assert (
        listed.scope
        == view.scope
        == copy.scope
        == source.check({"ant": None}, query=query)["ant"].scope
    )


def test_no_scope_of_this_machine_is_no_skill(tmp_path: Path) -> None:
    source, query = _shared(tmp_path), SkillQuery(scopes=("system",))
    assert source.list_all(query).skills == ()
    assert source.check({"ant": None}, query=query)["ant"].state == "removed"
    with pytest.raises(SkillNotFound):
        source.view_skill("ant", query=query)


def test_collisions_are_told_as_they_were_decided(tmp_path: Path) -> None:
    source = _shared(tmp_path)
    for scopes, losers in {
        (): ["here", "extra"],
        ("path", "user"): ["home"],
        ("path",): [],
    }.items():
        told = source.list_all(SkillQuery(scopes=scopes)).diagnostics
        assert {each.code for each in told} <= {"collision"}
        at = [Path(str(each.file)).relative_to(tmp_path).parts[0] for each in told]
        assert at == losers


def test_who_may_not_see_the_first_gets_the_second(tmp_path: Path) -> None:
    _skill(tmp_path / "a", "ant", "first", "agents: [builder]\n")
    _skill(tmp_path / "b", "ant", "second", "min_tier: ultra\n")
    _skill(tmp_path / "c", "ant", "third")
    source = LocalSource(*(tmp_path / each for each in "abc"))
    for agent, tier, says in (
        ("builder", None, "first"),
        (None, None, "first"),
        ("review", "ultra", "second"),
        ("review", "lite", "third"),
        ("", None, "third"),
    ):
        query = SkillQuery(agent=agent, tier=tier)
        assert source.view_skill("ant", query=query).data == f"{says}\n".encode()
        assert [each.description for each in source.list_all(query).skills] == [f"The {says}."]


def test_a_hidden_skill_keeps_its_name(tmp_path: Path) -> None:
    _skill(tmp_path / "a", "ant", "first", "disable-model-invocation: true\n")
    _skill(tmp_path / "b", "ant", "second")
    source = LocalSource(tmp_path / "a", tmp_path / "b")
    assert source.list_all().skills == ()
    assert source.view_skill("ant").data == b"first\n"


def test_a_skill_that_needs_other_tools_keeps_its_name(tmp_path: Path) -> None:
    _skill(tmp_path / "a", "ant", "first", "allowed-tools: shell\n")
    _skill(tmp_path / "b", "ant", "second")
    source = LocalSource(tmp_path / "a", tmp_path / "b")
    assert source.list_all(SkillQuery(tools=("search",))).skills == ()
