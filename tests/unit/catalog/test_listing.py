"""List: what is in it, in which order, for how many requests."""

from __future__ import annotations

from dataclasses import replace

import pytest
from house import ADMIN, House, person, skill_files

from skill_registry.catalog.principal import user_scope
from skill_registry.errors import RequestInvalid, Unavailable
from skill_registry.store import keys
from skill_registry.store.keys import SkillId
from skill_registry.web.settings import Settings


@pytest.fixture
def house() -> House:
    return House()


def test_a_warm_list_is_one_conditional_get_per_scope_without_a_body(house: House) -> None:
    house.publish("alpha")
    house.publish("beta", scope="team-blue")
    ann = person("ann", "blue")
    house.registry.listing.page(ann)
    house.counter.reset()
    house.registry.listing.page(ann)
    assert [r.op for r in house.counter.requests] == ["GET"] * 3
    assert {r.key for r in house.counter.requests} == {
        keys.catalog(scope) for scope in (user_scope("ann"), "team-blue", "system")
    }
    assert house.counter.bodies == 0


def test_within_the_max_age_a_list_asks_nothing(house: House) -> None:
    house.publish("alpha")
    aged = House(bucket=house.bucket, settings=Settings(catalog_max_age=60))
    assert aged.listed() == {"alpha": 1}
    house.publish("alpha", "two")
    aged.counter.reset()
    assert aged.listed() == {"alpha": 1}
    assert aged.counter.count() == 0
    aged.time += 61
    assert aged.listed() == {"alpha": 2}


def test_a_publish_elsewhere_shows_in_the_next_list_of_a_warm_environment(house: House) -> None:
    house.publish("alpha")
    reader = house.environment()
    assert house.listed(registry=reader) == {"alpha": 1}
    house.publish("alpha", "two")
    assert house.listed(registry=reader) == {"alpha": 2}


def test_the_nearer_scope_wins_and_the_other_is_a_collision(house: House) -> None:
    ann = person("ann")
    house.publish("alpha", "system")
    house.publish("alpha", "own", scope=user_scope("ann"))
    page = house.registry.listing.page(ann)
    assert [(x.scope, x.entry.name) for x in page.skills] == [(user_scope("ann"), "alpha")]
    assert [d.code for d in page.diagnostics] == ["collision"]
    turned = house.registry.listing.page(ann, scopes=("system", user_scope("ann")))
    assert [x.scope for x in turned.skills] == ["system"]


def test_a_skill_of_another_agent_is_not_listed(house: House) -> None:
    house.publish("alpha", agents="[review]")
    house.publish("beta", agents="[coding]")
    assert set(house.listed(person("a", agent="review"))) == {"alpha"}
    assert set(house.listed(person("b"))) == {"alpha", "beta"}


def test_a_hidden_skill_is_not_listed_and_keeps_its_name(house: House) -> None:
    house.publish("alpha", "hidden", scope=user_scope("ann"), disable_model_invocation="true")
    house.publish("alpha", "open")
    assert house.listed(person("ann")) == {}


def test_foreign_scopes_read_as_empty(house: House) -> None:
    house.publish("alpha", scope="team-red")
    page = house.registry.listing.page(person("ann"), scopes=("team-red",))
    assert (page.skills, dict(page.versions)) == ((), {})


@pytest.mark.parametrize("scope", ["", "other", "team-", "team-A", "user-x", "../system"])
def test_what_is_no_scope_is_refused(house: House, scope: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        house.registry.listing.page(ADMIN, scopes=(scope,))
    assert caught.value.code == "scope_invalid"


def test_pages_follow_each_other_by_cursor_and_name_each_skill_once(house: House) -> None:
    names = [f"skill-{n:02d}" for n in range(7)]
    for name in names:
        house.publish(name)
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        page = house.registry.listing.page(ADMIN, limit=3, cursor=cursor)
        seen += [listed.entry.name for listed in page.skills]
        cursor = page.next
    assert (seen, cursor) == (names, None)


def test_a_cursor_of_another_query_or_hand_is_refused(house: House) -> None:
    for name in ("alpha", "beta"):
        house.publish(name)
    cursor = house.registry.listing.page(ADMIN, limit=1).next
    for principal, given in ((person("ann"), cursor), (ADMIN, "e30"), (ADMIN, "%%"), (ADMIN, "é")):
        with pytest.raises(RequestInvalid) as caught:
            house.registry.listing.page(principal, cursor=given)
        assert caught.value.code == "cursor_invalid"


@pytest.mark.parametrize("limit", [0, -1, 501])
def test_a_limit_out_of_range_is_refused(house: House, limit: int) -> None:
    with pytest.raises(RequestInvalid):
        house.registry.listing.page(ADMIN, limit=limit)


def test_the_catalog_version_grows_with_every_change_and_only_then(house: House) -> None:
    seen = []
    for text in ("a", "b"):
        house.publish("alpha", text)
        seen.append(house.registry.listing.page(ADMIN).versions["system"])
    house.deliver(keys.sidecar(SkillId("system", "alpha")))
    seen.append(house.registry.listing.page(ADMIN).versions["system"])
    assert seen[0] < seen[1] == seen[2]


def test_a_lost_catalog_is_rebuilt_above_its_old_version(house: House) -> None:
    house.publish("alpha")
    house.publish("beta")
    before = house.registry.listing.page(ADMIN).versions["system"]
    house.bucket.delete(keys.catalog("system"))
    house.time += 1
    house.publish("gamma")
    assert house.listed() == {"alpha": 1, "beta": 1, "gamma": 1}
    assert house.registry.listing.page(ADMIN).versions["system"] > before


@pytest.mark.parametrize("body", [b"", b"nonsense", b"\x1f\x8b\x08garbage"])
def test_a_broken_catalog_costs_a_warm_list_nothing_and_is_rebuilt(
    house: House, body: bytes
) -> None:
    house.publish("alpha")
    house.publish("beta")
    assert set(house.listed()) == {"alpha", "beta"}
    house.put(keys.catalog("system"), body)
    assert set(house.listed()) == {"alpha", "beta"}
    house.registry.reconciler.run()
    assert set(house.listed(registry=house.environment())) == {"alpha", "beta"}


def test_without_the_store_the_last_catalog_is_served_marked_up_to_its_age(house: House) -> None:
    house.publish("alpha")
    house.listed()
    house.faults.before_if = lambda _: True
    house.time += 200
    page = house.registry.listing.page(ADMIN)
    assert ([x.entry.name for x in page.skills], page.stale) == (["alpha"], 200)
    house.time += 101
    with pytest.raises(Unavailable):
        house.registry.listing.page(ADMIN)


def test_one_unreadable_directory_is_named_and_costs_no_other(house: House) -> None:
    house.publish("alpha")
    key = keys.tree_file(SkillId("system", "broken"), "SKILL.md")
    house.put(key, b"\xff\xfe not a skill")
    house.deliver(key)
    page = house.registry.listing.page(ADMIN)
    assert [x.entry.name for x in page.skills] == ["alpha"]
    assert [(d.code, d.file) for d in page.diagnostics] == [
        ("skill_unreadable", "system/broken/SKILL.md")
    ]


def test_an_incremental_catalog_equals_a_rebuilt_one(house: House) -> None:
    house.publish("alpha", agents="[review]", license="MIT")
    house.publish("beta", "a")
    house.publish("beta", "b")
    house.registry.publisher.delete(ADMIN, SkillId("system", "alpha"))
    key = keys.tree_file(SkillId("system", "vendored"), "SKILL.md")
    house.put(key, skill_files("vendored")[0].data)
    house.deliver(key)
    from skill_registry.catalog.snapshot import decode

    incremental = decode("system", house.read(keys.catalog("system")) or b"")
    house.bucket.delete(keys.catalog("system"))
    house.registry.reconciler.run()
    rebuilt = decode("system", house.read(keys.catalog("system")) or b"")
    assert incremental is not None and rebuilt is not None
    assert rebuilt.entries == incremental.entries
    assert replace(rebuilt, version=0).encode() == replace(incremental, version=0).encode()


def test_the_memory_of_catalogs_is_bounded(house: House) -> None:
    from skill_registry.catalog.cache import CatalogCache

    for name in ("blue", "red", "green"):
        house.publish("alpha", scope=f"team-{name}")
    house.counter.reset()
    cache = CatalogCache(house.registry.store, house.registry.runtime, max_bytes=10_000)
    for scope in ("team-blue", "team-red", "team-green", "team-blue"):
        assert set(cache.get(scope).catalog.entries) == {"alpha"}
    assert house.counter.bodies == 4
