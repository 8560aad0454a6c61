"""Traffic: clients that mix all calls of the contract over a few skills, on several servers.

No answer may be a 5xx, and no version may go backwards for any client.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from house import skill_md
from real_store.visitor import Skill, Visitor

from skill_registry.spec.archive import write_archive
from skill_registry.spec.model import SkillFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SKILLS: tuple[Skill, ...] = tuple(
    (scope, f"crowded-{number}") for scope in ("system", "team-red") for number in range(4)
)
MEMBER = json.dumps({"sub": "member", "roles": ["maintainer"], "teams": ["red"], "agent": "review"})
# A version may be pruned, a skill deleted or disabled, a precondition lost: all are answers.
GONE = (200, 404, 410)
WRITTEN = (200, 201, 404, 409, 410, 412)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a crowd was answered: answers by call and status, and every broken promise."""

    statuses: Counter[str]
    violations: tuple[str, ...]


def run(urls: Sequence[str], clients: int, seconds: float, seed: int = 1) -> Traffic:
    """Let clients call at random until the time is over; half of them are members of a team."""
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    shared = [httpx.Client(base_url=u, timeout=60, trust_env=False, limits=limits) for u in urls]
    end = time.monotonic() + seconds
    try:
        visitors = [Visitor(shared, MEMBER if n % 2 else "") for n in range(clients)]
        with ThreadPoolExecutor(clients) as pool:
            work = [
                pool.submit(_visit, visitor, random.Random(seed * 1000 + n), end)
                for n, visitor in enumerate(visitors)
            ]
            for done in work:
                done.result()
    finally:
        for client in shared:
            client.close()
    statuses = sum((visitor.told.statuses for visitor in visitors), Counter[str]())
    broken = tuple(each for visitor in visitors for each in visitor.told.violations)
    return Traffic(statuses, broken)


def _visit(visitor: Visitor, choices: random.Random, end: float) -> None:
    calls, weights = zip(*CALLS.items(), strict=True)
    while time.monotonic() < end:
        (call,) = choices.choices(calls, weights)
        call(visitor, choices)


def _any_skill(visitor: Visitor, choices: random.Random) -> tuple[Skill, dict[str, str]]:
    scope, name = choices.choice(SKILLS)
    if visitor.claims and scope == "system":
        scope = "team-red"
    return (scope, name), {"scope": scope}


def _list(visitor: Visitor, choices: random.Random) -> None:
    more = choices.choice(({}, {"q": "thing"}, {"limit": 3}, {"agent": "review"}, {"lang": "de"}))
    answer = visitor.call("GET", "/skills", params=more)
    if answer.status_code == 200:
        document = answer.json()
        for skill in document["skills"]:
            told = (skill["scope"], skill["name"])
            visitor.told.of_listing(told, skill["version"], "listing")
        visitor.told.of_catalogs(document["catalog_version"])


def _list_text(visitor: Visitor, choices: random.Random) -> None:
    kind = choices.choice(("text/markdown", "application/xml"))
    visitor.call("GET", "/skills", headers={"accept": kind})


def _check(visitor: Visitor, choices: random.Random) -> None:
    (scope, name), query = _any_skill(visitor, choices)
    loaded = visitor.told.listed.get((scope, name), 1)
    answer = visitor.call("POST", "/check", params=query, json={"skills": {name: loaded}})
    if answer.status_code == 200:
        state = answer.json()["skills"][name]
        visitor.told.of_listing((scope, name), state.get("version"), "check")


def _view(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    more = choices.choice(({}, {"path": "references/notes.md"}, {"raw": "1"}))
    answer = visitor.call("GET", f"/skills/{skill[1]}", GONE, params={**query, **more})
    if answer.status_code == 200 and "raw" not in more:
        visitor.told.of_authority(skill, answer.json()["version"], "view")
    elif answer.status_code == 200:
        visitor.told.of_authority(skill, int(answer.headers["x-skill-version"]), "raw view")


def _pinned(visitor: Visitor, choices: random.Random) -> None:
    (_, name), query = _any_skill(visitor, choices)
    pin = choices.choice(("1", "@stable"))
    answer = visitor.call("GET", f"/skills/{name}", GONE, params={**query, "version": pin})
    if answer.status_code == 200 and pin == "1" and answer.json()["version"] != 1:
        visitor.told.violations.append("a pin gave another version")


def _bundle(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    answer = visitor.call("GET", f"/skills/{skill[1]}/bundle", GONE, params=query)
    if answer.status_code != 200:
        return
    made = answer.json()
    visitor.told.of_authority(skill, made["version"], "bundle")
    data = httpx.get(made["url"], trust_env=False, timeout=60).content
    if hashlib.sha256(data).hexdigest() != made["sha256"]:
        visitor.told.violations.append("a bundle had other bytes than its digest says")


def _history(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    answer = visitor.call("GET", f"/skills/{skill[1]}/versions", GONE, params=query)
    if answer.status_code == 200:
        visitor.told.of_authority(skill, answer.json()["current"], "history")
    visitor.call("GET", f"/skills/{skill[1]}/diff", GONE, params=query)


def _files(name: str, choices: random.Random) -> dict[str, str]:
    text = f"{choices.random()}"
    return {"SKILL.md": skill_md(name, "Does a thing.").decode(), "references/notes.md": text}


def _publish(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    headers = {"idempotency-key": f"{choices.random()}"}
    if choices.random() < 0.3 and skill in visitor.told.seen:
        headers["if-match"] = f'"{visitor.told.seen[skill]}"'
    body = {"files": _files(skill[1], choices)}
    path = f"/skills/{skill[1]}"
    answer = visitor.call("PUT", path, WRITTEN, params=query, json=body, headers=headers)
    _written(visitor, skill, answer)


def _written(visitor: Visitor, skill: Skill, answer: httpx.Response) -> None:
    if answer.status_code in (200, 201):
        visitor.told.of_authority(skill, answer.json()["version"], "write")


def _upload(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    files = (SkillFile(path, text.encode()) for path, text in _files(skill[1], choices).items())
    data = write_archive(files)
    body: dict[str, Any] = {
        "name": skill[1],
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    ticket = visitor.call("POST", "/uploads", (201,), params=query, json=body).json()
    sent = httpx.put(
        ticket["url"], content=data, headers=ticket["headers"], trust_env=False, timeout=60
    )
    if sent.status_code != 200:
        visitor.told.violations.append(f"the store refused an upload: {sent.text[:200]}")
        return
    path = f"/uploads/{ticket['upload_id']}"
    if choices.random() < 0.7:
        _written(visitor, skill, visitor.call("POST", f"{path}/complete", (200, 202, 409)))
    # Else the event function publishes it.
    visitor.call("GET", path)


def _delete(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    answer = visitor.call("DELETE", f"/skills/{skill[1]}", WRITTEN, params=query)
    _written(visitor, skill, answer)


def _rollback(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    body = {"version": 1, "message": "Back"}
    path = f"/skills/{skill[1]}/rollback"
    _written(visitor, skill, visitor.call("POST", path, WRITTEN, params=query, json=body))


def _copy(visitor: Visitor, choices: random.Random) -> None:
    name = choices.choice(SKILLS)[1]
    path, query = f"/skills/{name}/copy", {"scope": "system"}
    answer = visitor.call("POST", path, WRITTEN, params=query, json={"to": "team-red"})
    _written(visitor, ("team-red", name), answer)


def _configure(visitor: Visitor, choices: random.Random) -> None:
    skill, query = _any_skill(visitor, choices)
    body = choices.choice(
        (
            {"labels": {"stable": 1}},
            {"labels": {"stable": None}},
            {"enabled": False},
            {"enabled": True},
            {"enabled": True, "agents": None},
        )
    )
    visitor.call("PATCH", f"/skills/{skill[1]}", GONE, params=query, json=body)


def _operate(visitor: Visitor, choices: random.Random) -> None:
    allowed = (403,) if visitor.claims else (200, 404)
    role = "arn:aws:iam::000000000000:role/passing"
    grant = choices.choice((None, {"roles": ["reader"], "scopes": ["team-red"]}))
    visitor.call("GET", "/access", allowed)
    visitor.call("PATCH", "/access", allowed, json={"role": role, "grant": grant})
    one = {"scope": "system", "name": choices.choice(SKILLS)[1]}
    visitor.call("POST", "/maintenance/doctor", allowed, json=one)


def _others(visitor: Visitor, choices: random.Random) -> None:
    name = choices.choice(SKILLS)[1]
    visitor.call("POST", "/validate", json={"files": _files(name, choices)})
    visitor.call("GET", "/openapi.json")
    visitor.call("GET", "/nowhere", (404,))


CALLS: dict[Callable[[Visitor, random.Random], None], int] = {
    _list: 20,
    _list_text: 5,
    _check: 10,
    _view: 25,
    _pinned: 5,
    _bundle: 5,
    _history: 5,
    _publish: 10,
    _upload: 6,
    _delete: 1,
    _rollback: 3,
    _copy: 2,
    _configure: 4,
    _operate: 2,
    _others: 3,
}
