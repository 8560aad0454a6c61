"""A registry over a memory store, with a gate that counts and fails, for tests of the use cases."""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.principal import SYSTEM, Principal, user_scope
from skill_registry.catalog.publishing import Published
from skill_registry.catalog.runtime import Runtime, Threads
from skill_registry.catalog.snapshot import Catalog, Entry
from skill_registry.errors import Unavailable
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SkillFile
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all
from skill_registry.store.gate import Counter, GatedStore, Request, Result
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore
from skill_registry.web.settings import Settings
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skill_registry.store.base import SkillStore

ADMIN = Principal(
    "arn:aws:iam::000000000000:role/admin",
    reads=(SYSTEM,),
    default_scope=SYSTEM,
    tier="ultra",
    administrator=True,
)


def person(subject: str, *teams: str, agent: str | None = None) -> Principal:
    """A caller with a scope of its own, who may write to it and to its teams."""
    own = user_scope(subject)
    scopes = tuple(f"team-{team}" for team in teams)
    return Principal(
        subject,
        reads=(own, *scopes, SYSTEM),
        writes=frozenset((own, *scopes)),
        default_scope=own,
        agent=agent,
        own_scope=own,
    )


def skill_md(name: str, description: str = "Does one thing well.", **more: str) -> bytes:
    """A valid SKILL.md; further keyword arguments become frontmatter lines."""
    lines = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in more.items())
    return (
        f"---\nname: {name}\ndescription: {description}\n{lines}---\n# {name}\n\nDo it.\n".encode()
    )


def skill_files(name: str, text: str = "one", **more: str) -> tuple[SkillFile, ...]:
    """A valid skill of two files; ``text`` makes one state of it differ from another."""
    return (
        SkillFile("SKILL.md", skill_md(name, **more)),
        SkillFile("references/notes.md", text.encode()),
    )


def skill(name: str, text: str = "one", **more: str) -> ArchiveContents:
    """``skill_files`` as an upload holds them."""
    return ArchiveContents(skill_files(name, text, **more))


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip as any tool would make it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def skill_zip(name: str, text: str = "one") -> bytes:
    """The archive of ``skill_files``."""
    return zipped({file.path: file.data for file in skill_files(name, text)})


def as_published(done: object) -> Published:
    """What a finished upload became, which is to be a version."""
    assert isinstance(done, Published), done
    return done


class Faults:
    """A gate that fails requests which a test names, before or after they are applied."""

    def __init__(self) -> None:
        self.before_if: Callable[[Request], bool] = lambda _: False
        self.after_if: Callable[[Request], bool] = lambda _: False
        self.on_after: Callable[[Request, Result], None] = lambda _request, _result: None

    def before(self, request: Request) -> None:
        if self.before_if(request):
            raise Unavailable("The store did not answer.")

    def after(self, request: Request, result: Result) -> None:
        self.on_after(request, result)
        if self.after_if(request):
            raise Unavailable("The reply was lost.")

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]


@dataclass
class House:
    """One bucket, and registries over it: each one is an execution environment of its own."""

    bucket: MemorySkillStore = field(default_factory=MemorySkillStore)
    settings: Settings = field(default_factory=Settings)
    counter: Counter = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    time: float = 1_800_000_000.0

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self.registry = self.environment()

    def environment(self, *, threads: bool = False) -> Registry:
        """Start another execution environment, with an empty memory."""
        runtime = Runtime(
            clock=lambda: self.time,
            monotonic=lambda: self.time,
            new_id=lambda: f"{next(self._ids):032x}",
            pause=lambda _: None,
        )
        if threads:
            runtime = replace(runtime, parallel=Threads())
        store: SkillStore = GatedStore(GatedStore(self.bucket, self.faults), self.counter)
        return Registry(self.settings, store, runtime)

    def publish(self, name: str, text: str = "one", *, scope: str = SYSTEM, **more: str) -> int:
        """Publish a skill inline; return its version."""
        contents = skill(name, text, **more)
        done = self.registry.publisher.publish_inline(ADMIN, SkillId(scope, name), contents)
        return done.info.number

    def upload(self, name: str, data: bytes, principal: Principal = ADMIN, **more: Any) -> str:
        """Announce and send an upload; return its id. Nothing is published yet."""
        from skill_registry.catalog.log import NO_PRECONDITION

        scope = principal.write_scope(None)
        more = {"precondition": NO_PRECONDITION, **more}
        announced = self.registry.uploader.announce(principal, SkillId(scope, name), **more)
        self.bucket.receive(announced.target, data)
        return announced.upload.id

    def put(self, key: str, body: bytes) -> None:
        """Put an object into the bucket as somebody else's tool would."""
        self.bucket.put(key, body)

    def put_catalog(self, scope: str, *entries: Entry, version: int = 1) -> None:
        """Put a catalog of these entries into the bucket, whatever else it holds."""
        catalog = Catalog(scope, version, {entry.name: entry for entry in entries})
        self.put(keys.catalog(scope), catalog.encode())

    def read(self, key: str) -> bytes | None:
        """Return an object's bytes."""
        found = self.bucket.get(key)
        return found.body if isinstance(found, StoredObject) else None

    def version(self, name: str, scope: str = SYSTEM) -> bytes | None:
        """Return the bytes of ``.version``."""
        return self.read(keys.sidecar(SkillId(scope, name)))

    def tree(self, name: str, scope: str = SYSTEM) -> dict[str, bytes]:
        """Return the plain tree, its sidecar left out."""
        prefix = keys.tree(SkillId(scope, name))
        found = {
            o.key.removeprefix(prefix): self.read(o.key) for o in list_all(self.bucket, prefix)
        }
        return {
            path: body for path, body in found.items() if path != ".version" and body is not None
        }

    def state(self) -> dict[str, bytes]:
        """Return every object of the bucket."""
        return {o.key: self.read(o.key) or b"" for o in list_all(self.bucket, "")}

    def listed(
        self, principal: Principal = ADMIN, registry: Registry | None = None
    ) -> dict[str, Any]:
        """Return name to version as a listing shows it now."""
        page = (registry or self.registry).listing.page(principal)
        return {listed.entry.name: listed.entry.version for listed in page.skills}

    def deliver(self, *object_keys: str) -> set[str]:
        """Deliver one event for each key, all in one batch; return the failed message ids."""
        messages = {str(i): event_body(key) for i, key in enumerate(object_keys)}
        return self.registry.events.handle(messages)


def event_body(*object_keys: str, name: str = "ObjectCreated:Put") -> str:
    """An S3 notification for these keys, encoded as S3 does."""
    from urllib.parse import quote_plus

    records = [
        {
            "eventVersion": "2.1",
            "eventSource": "aws:s3",
            "eventName": name,
            "s3": {"bucket": {"name": "b"}, "object": {"key": quote_plus(key, safe="/")}},
        }
        for key in object_keys
    ]
    return json.dumps({"Records": records})


def http_event(
    route: str,
    *,
    path: Mapping[str, str] | None = None,
    query: str = "",
    headers: Mapping[str, str] | None = None,
    body: bytes | str | None = None,
    claims: Mapping[str, Any] | None = None,
    caller: str = "arn:aws:sts::000000000000:assumed-role/admin/session",
) -> dict[str, Any]:
    """An HTTP API event, payload format 2.0, as API Gateway sends it for a route.

    The caller is who has these claims, or this ARN.
    """
    import base64

    method, _, template = route.partition(" ")
    raw_path = template
    for key, value in (path or {}).items():
        raw_path = raw_path.replace("{" + key + "}", value)
    authorizer: dict[str, Any] = (
        {"jwt": {"claims": dict(claims), "scopes": None}}
        if claims is not None
        else {"iam": {"userArn": caller}}
    )
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route,
        "rawPath": raw_path,
        "rawQueryString": query,
        "headers": dict(headers or {}),
        "pathParameters": dict(path or {}),
        "requestContext": {
            "authorizer": authorizer,
            "http": {"method": method, "path": raw_path},
            "requestId": "request-1",
            "stage": "$default",
        },
        "isBase64Encoded": isinstance(body, bytes),
    }
    if body is not None:
        event["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else body
    return event


def read_skill_dir(directory: Path) -> tuple[SkillFile, ...]:
    """Read a directory's files as a skill."""
    return tuple(
        SkillFile(
            p.relative_to(directory).as_posix(), p.read_bytes(), p.stat().st_mode & 0o100 != 0
        )
        for p in sorted(directory.rglob("*"))
        if p.is_file()
    )
