"""Rebuild: entries read anew, equal to those that events made, under a version that only grows."""

from __future__ import annotations

import gzip
import json

import pytest
from damages import CATALOG, NOTES, furnished, rewrite_catalog
from house import ADMIN, House

from skill_registry.catalog.snapshot import SCHEMA, Catalog, Entry, read_catalog
from skill_registry.store import keys
from skill_registry.store.gate import Request, Result
from skill_registry.store.keys import SkillId


@pytest.fixture(params=[False, True], ids=["md5-etags", "opaque-etags"])
def house(request: pytest.FixtureRequest) -> House:
    made = furnished(opaque_etags=request.param)
    made.publish("gone")
    made.registry.publisher.delete(ADMIN, SkillId("system", "gone"))
    made.put(keys.settings(SkillId("system", "other")), b'{"enabled": false}')
    made.deliver(keys.settings(SkillId("system", "other")))
    return made


def stored(house: House) -> Catalog:
    catalog = read_catalog("system", house.read(CATALOG) or b"")
    assert isinstance(catalog, Catalog)
    return catalog


def test_rebuilt_entries_equal_those_that_events_made(house: House) -> None:
    incremental = stored(house)
    house.bucket.delete(CATALOG)
    house.time += 1
    rebuilt = house.environment().refresher.rebuild("system")
    assert rebuilt.entries == incremental.entries == stored(house).entries
    assert rebuilt.version > incremental.version


def test_a_rebuild_that_finds_the_same_entries_writes_nothing(house: House) -> None:
    before = stored(house)
    house.counter.reset()
    assert house.environment().refresher.rebuild("system") == before
    assert house.counter.count("PUT", "DELETE") == 0


def test_whatever_the_catalog_says_is_replaced_by_what_is_there(house: House) -> None:
    right = stored(house)

    def lie(raw: dict[str, dict[str, object]]) -> None:
        raw["skills"].pop("plain")
        raw["skills"]["notes"] = {"revision": 1, "version": 1, "description": "A lie."}
        raw["skills"]["ghost"] = {"revision": 1, "version": 1}

    rewrite_catalog(house, lie)
    rebuilt = house.environment().refresher.rebuild("system")
    assert rebuilt.entries == right.entries
    assert rebuilt.version == right.version + 1


@pytest.mark.parametrize(
    "body",
    [
        b"garbage",
        gzip.compress(json.dumps({"schema": SCHEMA - 1, "catalog_version": 10**15}).encode()),
        gzip.compress(json.dumps({"schema": SCHEMA + 1, "catalog_version": 10**15}).encode()),
        Catalog("team-blue", 10**15, {"ghost": Entry("ghost", 1, 1)}).encode(),
    ],
    ids=["garbage", "older schema", "newer schema", "another scope"],
)
def test_a_catalog_that_cannot_be_read_is_made_anew_above_its_version(
    house: House, body: bytes
) -> None:
    right = stored(house)
    house.put(CATALOG, body)
    house.time += 1
    rebuilt = house.environment().refresher.rebuild("system")
    assert rebuilt.entries == right.entries
    assert rebuilt.version > right.version
    assert stored(house) == rebuilt


def test_the_version_of_another_schema_is_never_undercut(house: House) -> None:
    for schema in (SCHEMA - 1, SCHEMA + 1):
        raw = {"schema": schema, "catalog_version": 10**15 + schema}
        house.put(CATALOG, gzip.compress(json.dumps(raw).encode()))
        assert house.environment().refresher.rebuild("system").version == 10**15 + schema + 1


def test_a_clock_that_goes_back_takes_no_version_with_it(house: House) -> None:
    before = stored(house).version
    house.time -= 10**9
    house.publish("notes", "d")
    assert stored(house).version == before + 1


def test_a_rebuild_of_a_scope_without_anything_makes_nothing(house: House) -> None:
    rebuilt = house.environment().refresher.rebuild("team-nobody")
    assert (rebuilt.version, dict(rebuilt.entries)) == (0, {})
    assert house.read(keys.catalog("team-nobody")) is None


def test_a_publish_during_a_rebuild_is_not_lost(house: House) -> None:
    environment = house.environment()
    published = False

    def publish(request: Request, _: Result) -> None:
        nonlocal published
        if not published and request.op == "GET" and request.key == keys.sidecar(NOTES):
            published = True
            house.faults.on_after = lambda _request, _result: None
            house.publish("notes", "d")

    house.bucket.delete(CATALOG)
    house.faults.on_after = publish
    assert environment.refresher.rebuild("system").entries["notes"].version == 4
    assert stored(house).entries["notes"].version == 4
