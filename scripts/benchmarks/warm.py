"""``bench warm``: list and view in a warm environment beside a bare conditional GET."""

from __future__ import annotations

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
from skill_registry.store import keys
from skill_registry.store.base import StoredObject
from skill_registry.store.keys import SkillId
from skill_registry.store.s3 import S3SkillStore
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

SKILLS = 100
ROUNDS = 15
CALLS = 20


def run() -> list[Report]:
    """Time the calls interleaved, and compare medians."""
    with tempfile.TemporaryDirectory() as folder, Emulator(Path(folder)) as running:
        endpoint = running.endpoint
        store = S3SkillStore(endpoint.client("s3"), endpoint.make_bucket())
        registry = Registry(Settings(), store, replace(Runtime(), parallel=Threads()))
        for number in range(SKILLS):
            registry.publisher.publish_inline(
                ADMIN, SkillId("system", f"skill-{number:03d}"), skill(f"skill-{number:03d}")
            )
        return [_compare(registry)]


def _compare(registry: Registry) -> Report:
    api, view_api = registry.list_api(), registry.view_api()
    etag = _etag(registry)
    calls: dict[str, Callable[[], object]] = {
        "bare conditional GET (304)": lambda: registry.store.get(
            keys.catalog("system"), if_none_match=etag
        ),
        "list, one scope, in the handler": lambda: api.answer(_event("GET /skills", {})),
        "view, in the handler": lambda: view_api.answer(
            _event("GET /skills/{name}", {"name": "skill-000"})
        ),
    }
    times: dict[str, list[float]] = {label: [] for label in calls}
    for _ in range(ROUNDS):
        for label, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[label].append((time.perf_counter() - start) / CALLS)
    medians = {label: statistics.median(taken) for label, taken in times.items()}
    floor = medians["bare conditional GET (304)"]
    return Report(
        f"Warm calls over {SKILLS} skills",
        f"Medians of {ROUNDS} interleaved rounds of {CALLS} calls, one client, embedded S3.",
        ("call", "ms", "ratio"),
        tuple((label, median * 1000, median / floor) for label, median in medians.items()),
    )


def _etag(registry: Registry) -> str:
    found = registry.store.get(keys.catalog("system"))
    assert isinstance(found, StoredObject)
    return found.etag


def _event(route: str, path: dict[str, str]) -> dict[str, Any]:
    claims = {"sub": ADMIN.subject, "roles": "admin"}
    return {
        "routeKey": route,
        "headers": {},
        "rawQueryString": "scope=system",
        "pathParameters": path,
        "requestContext": {"authorizer": {"jwt": {"claims": claims}}, "requestId": "bench"},
    }
