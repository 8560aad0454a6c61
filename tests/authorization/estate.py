"""A bucket that holds every scope with a skill of every state, in memory; and what it answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from authorization import marks
from authorization.calls import UPLOADS, Aim, skill_text
from authorization.table import AGENT, NAMES, ROLES, SHARED, ZOE, Role, Scope, State
from house import House, http_event, zipped

from skill_registry.catalog.access import Access, make_grant, write_access
from skill_registry.catalog.adopting import Adopter
from skill_registry.catalog.log import NO_PRECONDITION
from skill_registry.catalog.principal import Principal, subject_hash, user_scope
from skill_registry.catalog.uploads import Ticket
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SkillFile
from skill_registry.store import keys
from skill_registry.store.base import StoredObject
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web import contract
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from authorization.calls import Sent

    from skill_registry.web.api import Api
    from skill_registry.web.http import Result
    from skill_registry.web.wiring import Registry

ADMINISTRATORS = tuple(role.arn for role in ROLES if role.parameter)
SETTINGS = Settings(registry_administrators=ADMINISTRATORS)

_FRONTMATTER = {
    State.OTHERS: "agents: [coding]\n",
    State.ASSIGNED: f"agents: [{AGENT}]\n",
    State.ULTRA: "min_tier: ultra\n",
    State.MANUAL: "disable-model-invocation: true\n",
}
_DECIDED: Mapping[State, Mapping[str, Any]] = {
    State.DISABLED: {"enabled": False},
    State.ASSIGNED: {"agents": ["coding"]},
}


class Bucket(MemorySkillStore):
    """A memory store that can be copied."""

    def copy(self) -> Bucket:
        """Return a bucket with the same objects that goes its own way."""
        other = Bucket()
        other._objects = dict(self._objects)
        return other

    def objects(self) -> tuple[StoredObject, ...]:
        """Return everything that it holds."""
        return tuple(self._objects.values())

    def same_as(self, other: Bucket) -> bool:
        """Whether it holds the same objects, down to when they were written."""
        return self._objects == other._objects


def skill_md(state: State, word: str) -> str:
    """Return a SKILL.md that has its word wherever something of it may be told."""
    return (
        f"---\nname: {state}\ndescription: Marked {word}. Use when asked.\n"
        f"description_zh: {word}\nlicense: {word}\ncompatibility: {word}\nversion: {word}\n"
        f"source: {word}\nallowed-tools: Read\nmetadata:\n  tags: [{word}]\n"
        f"{_FRONTMATTER.get(state, '')}---\n# {word}\n"
    )


def _decided(scope: Scope, state: State) -> dict[str, Any]:
    """Return what operators decided about a skill, and when they last did."""
    word = marks.word(scope, state)
    decided = dict(_DECIDED.get(state, {}))
    if state is State.MASKED and scope is Scope.OWN:
        decided["hidden"] = True
    if state is State.SEALED and scope is Scope.SYSTEM:
        decided["sealed"] = True
    change = {"who": word, "when": "2026-01-01T00:00:00Z", "what": {}, "why": word}
    labels = {"stable": marks.published(scope, state)}
    return {"schema": 1, **decided, "labels": labels, "changes": [change]}


def furnish(house: House, scope: Scope, name: str) -> None:
    """Put a skill of every state into a scope."""
    for state in State:
        if state is not State.UNKNOWN:
            _place(house, SkillId(name, state.value), scope, state)
    house.registry.refresher.rebuild(name)


def _place(house: House, skill: SkillId, scope: Scope, state: State) -> None:
    word, tree = marks.word(scope, state), keys.tree(skill)
    files = {"SKILL.md": skill_md(state, word), f"references/{word}.md": word}
    files["references/notes.md"] = f"Older {word}.\n"
    for path, text in files.items():
        house.put(tree + path, text.encode())
    if state is State.VENDORED:
        return
    house.put(keys.sidecar(skill), b"%d\n" % marks.first(scope, state))
    house.put(keys.settings(skill), json.dumps(_decided(scope, state)).encode())
    files["references/notes.md"] = f"Newer {word}.\n"
    sent = ArchiveContents(tuple(SkillFile(path, text.encode()) for path, text in files.items()))
    author = Principal(f"author {word}", reads=(), administrator=True)
    adopt(house.registry, skill)
    done = house.registry.publisher.publish_inline(author, skill, sent, message=f"For {word}")
    assert done.info.number == marks.published(scope, state)
    if state is State.DELETED:
        house.registry.publisher.delete(author, skill)


def adopt(registry: Registry, skill: SkillId) -> None:
    """Make the directory the first version of its skill, by the number that it states."""
    adopter = Adopter(registry.store, registry.runtime, registry.log, registry.loader.vendored)
    adopter.adopt(skill, registry.log.head(skill), NO_PRECONDITION)


def furnish_shared(house: House) -> None:
    """Put everything into the scopes that are not the caller's."""
    for scope in SHARED:
        furnish(house, scope, NAMES[scope])
    receive(house, ZOE, UPLOADS[Scope.FOREIGN_USER])
    house.put(keys.access(), write_access(Access(grants())))


def furnish_own(house: House, role: Role) -> None:
    """Put everything into the scope of a caller, and an upload of its own into its folder."""
    if role.refused is None:
        receive(house, role.subject, UPLOADS[Scope.OWN])
    if role.own:
        furnish(house, Scope.OWN, user_scope(role.subject))


def grants() -> dict[str, Any]:
    """Return what IAM roles were granted, by role."""
    made = [
        make_grant(
            role.arn, role.words, tuple(NAMES[scope] for scope in role.scopes), agent=role.agent
        )
        for role in ROLES
        if role.kind == "iam" and role.words and not role.parameter
    ]
    return {grant.role: grant for grant in made}


def receive(house: House, subject: str, upload_id: str, *, dry_run: bool = False) -> None:
    """Let an upload be there that its principal announced, and nobody published."""
    skill = SkillId(user_scope(subject), "arrived")
    ticket = Ticket(skill, 0, subject, NO_PRECONDITION, dry_run=dry_run)
    text = skill_text(Aim(ROLES[0], Scope.OWN, State.UNKNOWN, Scope.OWN))
    data = zipped({"SKILL.md": text.replace("name: unknown", "name: arrived").encode()})
    key = keys.upload(UploadId(subject_hash(subject), upload_id))
    house.bucket.put(key, data, metadata=ticket.to_metadata(), content_type="application/zip")


@lru_cache(maxsize=1)
def _shared() -> Bucket:
    bucket = Bucket()
    furnish_shared(House(bucket=bucket, settings=SETTINGS))
    return bucket


@lru_cache(maxsize=len(ROLES))
def bucket_of(role: Role) -> Bucket:
    """Return the bucket that this role meets. Whoever changes it takes a copy."""
    bucket = _shared().copy()
    furnish_own(House(bucket=bucket, settings=SETTINGS), role)
    return bucket


def everything() -> Bucket:
    """Return one bucket that every role meets. Its uploads are dry runs: events publish none."""
    bucket = _shared().copy()
    house = House(bucket=bucket, settings=SETTINGS)
    receive(house, ZOE, UPLOADS[Scope.FOREIGN_USER], dry_run=True)
    for role in ROLES:
        furnish_own(house, role)
        receive(house, role.subject, UPLOADS[Scope.OWN], dry_run=True)
    return bucket


def identity(role: Role) -> dict[str, Any]:
    """Return who the caller is, as arguments of ``http_event``."""
    if role.kind == "iam":
        return {"caller": role.session}
    return {"claims": claims(role)}


def claims(role: Role) -> dict[str, Any]:
    """Return the claims of a token, none for who has no token."""
    if role.kind == "none":
        return {}
    teams = [NAMES[scope].removeprefix("team-") for scope in role.scopes]
    return {"sub": role.subject, "roles": list(role.words), "teams": teams, "agent": role.agent}


@dataclass
class Environment:
    """One execution environment of all functions."""

    house: House
    registry: Registry

    @classmethod
    def over(cls, bucket: Bucket) -> Environment:
        """Start one over a bucket, with an empty memory."""
        house = House(bucket=bucket, settings=SETTINGS)
        return cls(house, house.registry)

    def __post_init__(self) -> None:
        self._apis: dict[str, Api] = {}

    def answer(self, role: Role, sent: Sent) -> Result:
        """Answer one request of a role."""
        event = http_event(
            sent.route,
            path=sent.path,
            query=sent.query_string,
            headers=sent.headers,
            body=sent.body_text,
            **identity(role),
        )
        return self.api(sent.route).answer(event)

    def api(self, route: str) -> Api:
        """Return the API of the function that a route belongs to."""
        made = {
            contract.VIEW_ROUTES: self.registry.view_api,
            contract.UPLOAD_ROUTES: self.registry.upload_api,
            contract.MAINTENANCE_ROUTES: self.registry.maintenance_api,
        }
        make = next((m for routes, m in made.items() if route in routes), self.registry.list_api)
        if make.__name__ not in self._apis:
            self._apis[make.__name__] = make()
        return self._apis[make.__name__]
