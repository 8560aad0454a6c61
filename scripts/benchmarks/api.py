"""``bench api``: what a listing, a search and a check cost, whatever the number of skills."""

from __future__ import annotations

import itertools
import json
import random
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.report import Report
from benchmarks.samples import ADMIN, skill
from local_stack.emulator import Emulator
from skill_registry.catalog.runtime import Runtime, Threads
from skill_registry.catalog.snapshot import Catalog, Entry
from skill_registry.store import keys
from skill_registry.store.gate import Counter, GatedStore
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.store.s3 import S3SkillStore
from skill_registry.web.api import Api
from skill_registry.web.list_routes import list_routes
from skill_registry.web.rendered import RenderedAnswers
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from skill_registry.store.base import SkillStore

FEW, MANY = 100, 10_000
SCOPES = {FEW: "team-few", MANY: "team-many"}
ROUNDS = 15
CALLS = 3
NAME = "measured-skill"

# In every description, in the descriptions of a few, and how words of some begin.
QUERIES = {
    "page of 50": "limit=50",
    "search, a word of every skill": "limit=50&q=often",
    "search, three words": "limit=50&q=often+skill+w1",
    "search, the beginning of words": "limit=50&q=w",
}


def run() -> list[Report]:
    """Time calls over both numbers of skills in turn, and count the requests of each call."""
    with tempfile.TemporaryDirectory() as folder, Emulator(Path(folder)) as running:
        store = S3SkillStore(running.endpoint.client("s3"), running.endpoint.make_bucket())
        _fill(store)
        return [_times(store), _requests()]


def _fill(store: SkillStore) -> None:
    for number, scope in SCOPES.items():
        entries = map(_entry, range(number))
        catalog = Catalog(scope, 1, {entry.name: entry for entry in entries})
        store.put(keys.catalog(scope), catalog.encode())


def _entry(number: int) -> Entry:
    """Make up an entry; its words are as uneven as those of a language."""
    source = random.Random(number)
    rare = " ".join(f"w{min(int(source.paretovariate(0.7)), 5000)}" for _ in range(25))
    return Entry(
        f"skill-{number:05d}",
        revision=1,
        version=1,
        description=f"Often does {rare}.",
        license="MIT",
        tags=("measured",),
        files=4,
        bytes=9000,
        sha256=source.randbytes(32).hex(),
        tree=source.randbytes(32).hex(),
    )


def _times(store: SkillStore) -> Report:
    runtime = replace(Runtime(), parallel=Threads())
    asking = Registry(Settings(), store, runtime)
    aged = Registry(Settings(catalog_max_age=3600), store, runtime)
    ways = {
        "as at every turn": asking.list_api(),
        "rendered anew": _anew(asking),
        "rendered anew, no request": _anew(aged),
    }
    calls = {
        (f"{label}, {way}", number): _call(api, f"scope={scope}&{query}")
        for label, query in QUERIES.items()
        for way, api in ways.items()
        for number, scope in SCOPES.items()
    }
    medians = _medians(calls)
    labels = dict.fromkeys(label for label, _ in calls)
    return Report(
        f"GET /skills of one scope with {FEW} and with {MANY} skills",
        f"Medians of {ROUNDS} interleaved rounds of {CALLS} warm calls, one client, embedded S3."
        " At every turn: the answer was given before, and S3 says that nothing changed.",
        ("call", f"ms, {FEW}", f"ms, {MANY}", "ratio"),
        tuple(
            (label, few, many, many / few)
            for label in labels
            for few, many in [(medians[label, FEW], medians[label, MANY])]
        ),
    )


def _anew(registry: Registry) -> Api:
    """The list function without a memory of answers."""
    routes = list_routes(registry.listing, registry.checks, RenderedAnswers(max_bytes=0))
    return Api(routes, registry.identity, registry.runtime.tell)


def _call(api: Api, query: str) -> Callable[[], None]:
    event = _event("GET /skills", query=query)

    def call() -> None:
        assert api.answer(event)["statusCode"] == 200

    call()
    return call


def _medians(calls: dict[tuple[str, int], Callable[[], None]]) -> dict[tuple[str, int], float]:
    """Return milliseconds of a call."""
    taken: dict[tuple[str, int], list[float]] = {key: [] for key in calls}
    for _ in range(ROUNDS):
        for key, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            taken[key].append((time.perf_counter() - start) / CALLS * 1000)
    return {key: statistics.median(times) for key, times in taken.items()}


def _requests() -> Report:
    counter = Counter()
    registry = Registry(Settings(), GatedStore(MemorySkillStore(), counter), Runtime())
    _fill(registry.store)
    for scope in SCOPES.values():
        registry.publisher.publish_inline(ADMIN, SkillId(scope, NAME), skill(NAME))
    rows = []
    for label, call in _counted(registry):
        call()
        counter.reset()
        call()
        rows.append((label, counter.gets, counter.bodies, counter.puts, counter.lists))
    return Report(
        "Store requests of one warm call",
        f"Counted at the gate that every request passes; scopes of {FEW} and {MANY} skills.",
        ("call", "GET+HEAD", "bodies", "PUT", "LIST"),
        tuple(rows),
    )


def _counted(registry: Registry) -> list[tuple[str, Callable[[], None]]]:
    lists, views, writes = registry.list_api(), registry.view_api(), registry.upload_api()
    rows = []
    for number, scope in SCOPES.items():
        names = {f"skill-{each:05d}": 1 for each in range(min(number, 1000))}
        rows += [
            (f"list, {number} skills", _ask(lists, "GET /skills", scope)),
            (
                f"check of {len(names)}, {number} skills",
                _ask(lists, "POST /check", scope, {"skills": names}),
            ),
            (f"view, {number} skills", _ask(views, "GET /skills/{name}", scope)),
            (
                f"PATCH, {number} skills",
                _ask(writes, "PATCH /skills/{name}", scope, {"enabled": True}, {"enabled": False}),
            ),
        ]
    return rows


def _ask(api: Api, route: str, scope: str, *bodies: Any) -> Callable[[], None]:
    """Return a call that sends one body after the other."""
    turns = itertools.cycle(bodies or (None,))

    def call() -> None:
        event = _event(route, query=f"scope={scope}", path={"name": NAME}, body=next(turns))
        assert api.answer(event)["statusCode"] == 200

    return call


def _event(
    route: str, *, query: str = "", path: dict[str, str] | None = None, body: Any = None
) -> dict[str, Any]:
    claims = {"sub": ADMIN.subject, "roles": "admin"}
    return {
        "routeKey": route,
        "headers": {"content-type": "application/json"},
        "rawQueryString": query,
        "pathParameters": path or {},
        "body": None if body is None else json.dumps(body),
        "requestContext": {"authorizer": {"jwt": {"claims": claims}}, "requestId": "bench"},
    }
