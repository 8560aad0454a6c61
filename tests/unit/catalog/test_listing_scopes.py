"""Names that scopes share: sealed, masked and shadowed ones; what is told, and to whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from house import ADMIN, House, person

from skill_registry.catalog.facts import Fact, SkillListed
from skill_registry.catalog.filters import Filters
from skill_registry.catalog.principal import user_scope
from skill_registry.catalog.snapshot import Entry, State
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from skill_registry.catalog.listing import Listing

OWN = user_scope("ann")
ANN = person("ann", "blue")


def skill(name: str = "alpha", **more: object) -> Entry:
    return Entry(name, revision=1, version=1, description="Does it.", **more)  # type: ignore[arg-type]


def listed(page: Listing) -> list[tuple[str, str]]:
    return [(each.scope, each.entry.name) for each in page.skills]


@pytest.fixture
def house() -> House:
    return House()


def test_a_sealed_name_comes_from_system_whatever_the_order(house: House) -> None:
    house.put_catalog(OWN, skill(), skill("beta"))
    house.put_catalog("system", skill(sealed=True), skill("beta"))
    page = house.registry.listing.page(ANN)
    assert listed(page) == [("system", "alpha"), (OWN, "beta")]
    assert [d.message for d in page.diagnostics] == [
        f"`{OWN}/alpha` is shadowed by `system/alpha`.",
        f"`system/beta` is shadowed by `{OWN}/beta`.",
    ]


UNLISTED: dict[str, dict[str, Any]] = {
    "disabled": {"enabled": False},
    "deleted": {"state": State.DELETED},
    "of another agent": {"agents": ("coding",)},
    "of a higher tier": {"min_tier": "ultra"},
    "hidden": {"hidden": True},
}


@pytest.mark.parametrize("why", UNLISTED)
def test_a_sealed_name_that_is_not_listed_comes_from_nowhere_and_nothing_is_told(
    house: House, why: str
) -> None:
    house.put_catalog(OWN, skill())
    house.put_catalog("system", skill(sealed=True, **UNLISTED[why]))
    page = house.registry.listing.page(replace(ANN, agent="review"))
    assert (listed(page), page.diagnostics) == ([], ())


def test_a_seal_counts_in_system_alone_and_where_system_is_asked(house: House) -> None:
    house.put_catalog("team-blue", skill(sealed=True, enabled=False))
    house.put_catalog("system", skill(sealed=True))
    assert listed(house.registry.listing.page(ANN)) == [("system", "alpha")]
    house.put_catalog(OWN, skill())
    assert listed(house.registry.listing.page(ANN, scopes=(OWN,))) == [(OWN, "alpha")]
    house.put_catalog("system", version=2)
    assert listed(house.registry.listing.page(ANN, scopes=("team-blue", OWN))) == [(OWN, "alpha")]


def test_a_masked_name_comes_from_no_scope_and_nothing_is_told(house: House) -> None:
    house.put_catalog(OWN, Entry("alpha", state=State.DELETED, masked=True))
    house.put_catalog("team-blue", skill(), skill("beta", masked=True))
    house.put_catalog("system", skill(sealed=True), skill("beta"), skill("gamma"))
    page = house.registry.listing.page(ANN)
    assert (listed(page), page.diagnostics) == ([("system", "gamma")], ())
    other = house.registry.listing.page(person("bob"))
    assert listed(other) == [("system", n) for n in ("alpha", "beta", "gamma")]


def test_a_refusal_names_what_a_listing_would(house: House) -> None:
    house.put_catalog(OWN, Entry("alpha", state=State.DELETED, masked=True), skill("own"))
    house.put_catalog("system", skill(), *(skill(f"skill-{n:02d}") for n in range(30)))
    names = house.registry.listing.names(ANN, ANN.read_scopes(()))
    assert names == ["own", *(f"skill-{n:02d}" for n in range(19))]


def test_a_collision_is_told_against_what_the_page_lists_alone(house: House) -> None:
    house.put_catalog(OWN, skill(allowed_tools=("Bash",)), skill("beta"))
    house.put_catalog("system", skill(), skill("beta"))
    page = house.registry.listing.page(ANN, filters=Filters.read(tools=("Read",)))
    assert [d.file for d in page.diagnostics] == ["system/beta/SKILL.md"]


def test_what_cannot_be_read_is_told_of_where_a_search_could_mean_it(house: House) -> None:
    broken = Entry("broken-thing", state=State.INVALID, diagnostics=({"message": "Not UTF-8."},))
    house.put_catalog("system", broken, skill())
    listing = house.registry.listing
    for query, told in (("", 1), ("broken", 1), ("alpha", 0)):
        page = listing.page(ADMIN, filters=Filters.read(words=query))
        assert len(page.diagnostics) == told, query


def test_diagnostics_are_on_the_first_page_alone(house: House) -> None:
    house.put_catalog(OWN, skill(), skill("beta"))
    house.put_catalog("system", skill(), skill("beta"))
    first = house.registry.listing.page(ANN, limit=1)
    second = house.registry.listing.page(ANN, limit=1, cursor=first.next)
    assert (len(first.diagnostics), len(second.diagnostics)) == (2, 0)


def test_at_most_100_diagnostics_are_told_and_50_of_one_code(house: House) -> None:
    said = tuple({"code": code, "message": "x."} for code in ("body_empty", "name_mismatch"))
    shared = [f"skill-{n:03d}" for n in range(70)]
    house.put_catalog(OWN, *(skill(name) for name in shared))
    house.put_catalog(
        "system",
        *(Entry(f"a-{n:02d}", description="x", diagnostics=said) for n in range(40)),
        *(skill(name) for name in shared),
        *(Entry(f"z-{n:02d}", state=State.INVALID) for n in range(30)),
    )
    page = house.registry.listing.page(ANN)
    codes = Counter(d.code for d in page.diagnostics)
    assert codes == {"body_empty": 10, "name_mismatch": 10, "collision": 50, "skill_unreadable": 30}
    assert page.omitted == 180 - 100
    last = {d.code: d.message for d in page.diagnostics}
    assert last["collision"].endswith("`. There are 20 more.")
    assert (last["body_empty"], last["name_mismatch"]) == ("x. There are 30 more.",) * 2
    assert "more" not in last["skill_unreadable"]
    files = [str(d.file) for d in page.diagnostics]
    assert files == sorted(files)


def test_few_diagnostics_omit_none(house: House) -> None:
    house.put_catalog(OWN, skill())
    house.put_catalog("system", skill())
    page = house.registry.listing.page(ANN)
    assert (len(page.diagnostics), page.omitted) == (1, 0)


def test_a_list_tells_once_how_much_of_what_was_listed_to_whom(house: House) -> None:
    told: list[Fact] = []
    runtime = replace(house.registry.runtime, tell=told.append)
    listing = Registry(house.settings, house.registry.store, runtime).listing
    house.put_catalog("system", skill(), skill("beta"))
    listing.page(ANN, limit=1)
    listing.page(ANN.narrowed(agent="coding", tier=None), filters=Filters.read(words="beta"))
    listing.page(replace(ANN, agent="review"), scopes=("system",))
    scopes = (OWN, "team-blue", "system")
    assert told == [
        SkillListed(scopes, 1, None, False),
        SkillListed(scopes, 1, "coding", True),
        SkillListed(("system",), 2, "review", False),
    ]


@pytest.mark.parametrize("count", [3, 300])
def test_a_warm_list_costs_one_get_per_scope_whatever_is_in_it(house: House, count: int) -> None:
    for scope in ANN.reads:
        house.put_catalog(scope, *(skill(f"skill-{n:03d}") for n in range(count)))
    listing = house.registry.listing
    listing.page(ANN)
    for filters in (Filters(), Filters.read(words="skill", tools=("Read",), language="zh")):
        house.counter.reset()
        listing.page(ANN, filters=filters)
        assert [r.op for r in house.counter.requests] == ["GET"] * 3
        assert house.counter.bodies == 0
