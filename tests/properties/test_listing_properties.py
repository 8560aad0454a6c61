"""A listing that looks at little equals one that looks at everything, page by page."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from house import ADMIN, House
from hypothesis import given, settings
from hypothesis import strategies as st

from skill_registry.catalog.filters import Filters
from skill_registry.catalog.principal import user_scope
from skill_registry.catalog.snapshot import Entry, State
from skill_registry.spec.visibility import Viewer, may_see

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.listing import ListSkills
    from skill_registry.catalog.principal import Principal

OWN = user_scope("ann")
SCOPES = (OWN, "team-blue", "system")
NAMES = ("code", "code-review", "review", "re", "数据", "My_Skill", "tool-1")
WORDS = ("code", "review", "reviews", "re", "数据", "ÄRGER", "ärgert", "tool", "ﬁle", "file", "1")
TOOLS = ("Read", "Bash", "Bash(git:*)", "Write")
FOUND_AT_MOST = 30

texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
words = st.lists(st.sampled_from((*WORDS, "c", "REV", "据", "nothing")), max_size=3).map(" ".join)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Entry]:
    return {
        name: Entry(
            name,
            revision=draw(st.sampled_from((None, 1))),
            version=1,
            state=draw(st.sampled_from((State.LIVE, State.LIVE, State.INVALID, State.DELETED))),
            enabled=draw(st.integers(0, 5)) > 0,
            description=draw(texts),
            descriptions=draw(st.dictionaries(st.sampled_from(("zh", "de-AT")), texts, max_size=1)),
            agents=draw(st.sampled_from((None, None, ("review",), ("coding", "review"), ()))),
            min_tier=draw(st.sampled_from((None, None, "ultra"))),
            hidden=draw(st.integers(0, 5)) == 0,
            masked=draw(st.integers(0, 9)) == 0,
            sealed=draw(st.integers(0, 5)) == 0,
            allowed_tools=tuple(draw(st.sets(st.sampled_from(TOOLS), max_size=2))),
            tags=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=2))),
            diagnostics=draw(st.sampled_from(((), ({"code": "body_empty", "message": "Empty."},)))),
        )
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
    }


catalogs = st.fixed_dictionaries({scope: entries() for scope in SCOPES})
callers = st.builds(
    lambda agent, tier, asked: replace(ADMIN, reads=SCOPES, agent=agent, tier=tier).narrowed(
        agent=asked, tier=None
    ),
    st.sampled_from((None, "review")),
    st.sampled_from((None, "ultra")),
    st.sampled_from((None, "coding")),
)
orders = st.lists(st.sampled_from(SCOPES), min_size=1, unique=True).map(tuple)
tools = st.one_of(st.just(()), st.lists(st.sampled_from((*TOOLS, "")), min_size=1, max_size=2))


def listing_of(found: Mapping[str, Mapping[str, Entry]]) -> ListSkills:
    house = House()
    for scope, some in found.items():
        house.put_catalog(scope, *some.values())
    return house.registry.listing


def loadable(entry: Entry, caller: Principal) -> bool:
    viewer = Viewer(caller.agent, caller.tier, caller.relevant_to)
    seen = may_see(agents=entry.agents, min_tier=entry.min_tier, viewer=viewer)
    return entry.enabled and entry.state is State.LIVE and seen


def winner(
    name: str, found: Mapping[str, Mapping[str, Entry]], order: tuple[str, ...], caller: Principal
) -> str | None:
    having = [(scope, found[scope][name]) for scope in order if name in found[scope]]
    if any(entry.masked for _, entry in having):
        return None
    if any(scope == "system" and entry.sealed for scope, entry in having):
        having = [each for each in having if each[0] == "system"]
    return next((scope for scope, entry in having if loadable(entry, caller)), None)


def split(text: str) -> list[str]:
    """Words by another way than the code's: character by character."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    spaced = "".join(f" {c} " if "一" <= c <= "鿿" else c for c in folded)
    return "".join(c if c.isalnum() else " " for c in spaced).split()


def score(entry: Entry, query: str) -> int | None:
    """The score by the rule, None where a word is not found."""
    asked = split(query)
    if not asked:
        return 0
    described = " ".join((entry.description, *entry.descriptions.values()))
    places = ((6, split(entry.name)), (4, split(" ".join(entry.tags))), (2, split(described)))
    total = 0
    for word in set(asked):
        best = 0
        for points, there in places:
            begun = any(each.startswith(word) for each in there)
            best = max(best, points if word in there else points - 1 if begun else 0)
        if not best:
            return None
        total += best
    exact = entry.name in ("-".join(asked), query.strip())
    return 1000 if exact else total


def may_use(entry: Entry, had: tuple[str, ...] | list[str]) -> bool:
    return not had or all(
        tool in had or re.sub(r"\(.*", "", tool) in had for tool in entry.allowed_tools
    )


@settings(deadline=None)
@given(catalogs, orders, callers, words, tools, st.integers(1, 5))
def test_pages_together_are_what_a_look_at_every_entry_finds(
    found: dict[str, dict[str, Entry]],
    order: tuple[str, ...],
    caller: Principal,
    query: str,
    had: list[str],
    limit: int,
) -> None:
    expected = []
    for name in NAMES:
        scope = winner(name, found, order, caller)
        if scope is None:
            continue
        entry = found[scope][name]
        worth = score(entry, query)
        if worth is not None and not entry.hidden and may_use(entry, had):
            expected.append((-worth, name, scope))
    skills = listing_of(found)
    filters = Filters.read(tools=had, words=query)
    seen: list[tuple[int, str, str]] = []
    cursor = None
    for _ in range(FOUND_AT_MOST):
        page = skills.page(caller, scopes=order, filters=filters, limit=limit, cursor=cursor)
        assert len(page.skills) == limit or page.next is None
        seen += [(-each.score, each.entry.name, each.scope) for each in page.skills]
        cursor = page.next
        if cursor is None:
            break
    assert seen == sorted(expected)
    whole = skills.page(caller, scopes=order, filters=filters, limit=None)
    assert [each.entry.name for each in whole.skills] == [name for _, name, _ in seen]
    assert whole.next is None


@settings(deadline=None)
@given(catalogs, orders, callers)
def test_a_collision_is_told_of_each_skill_that_a_listed_one_shadows(
    found: dict[str, dict[str, Entry]], order: tuple[str, ...], caller: Principal
) -> None:
    expected = []
    for scope in order:
        for name, entry in sorted(found[scope].items()):
            won = winner(name, found, order, caller)
            shadowed = won not in (None, scope) and loadable(entry, caller) and not entry.hidden
            if shadowed and won is not None and not found[won][name].hidden:
                expected.append(f"`{scope}/{name}` is shadowed by `{won}/{name}`.")
    page = listing_of(found).page(caller, scopes=order)
    told = [each.message for each in page.diagnostics if each.code == "collision"]
    assert told == expected
    listed = {(each.scope, each.entry.name) for each in page.skills}
    for each in page.diagnostics:
        scope, name, _ = str(each.file).split("/")
        assert not any(e.masked for s in order if (e := found[s].get(name)))
        assert each.code != "skill_unreadable" or (scope, name) not in listed
