"""A running agent's skills for tests: one registry behind a socket, sync and async skillsets."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from house import zipped
from loopback import QUICK, Loopback

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.skillset import AsyncSkillset, Skillset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.agent.events import SkillEvent

KINDS = ("sync", "async")


SKILL = """---
name: {name}
description: Does {text}.
source: https://example.org/{name}
---
# {text}

See references/more.md.
"""


class Awaited:
    """An async object, called as a sync one."""

    def __init__(self, target: object, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not inspect.iscoroutinefunction(value):
            return value
        return lambda *args, **more: self._runner.run(value(*args, **more))


@dataclass
class Agents:
    """Makes skillsets over one registry, all of one kind, and sees what they asked and told.

    Attributes:
        events: Of every skillset, in order.
    """

    registry: Loopback
    kind: str
    events: list[SkillEvent] = field(default_factory=list)
    _closers: list[Callable[[], object]] = field(default_factory=list)
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def make(self, *, url: str | None = None, timeout: float = 30, **options: Any) -> Skillset:
        """Return a skillset with a client of its own."""
        options.setdefault("publish", self.events.append)
        address = url or self.registry.url
        if self.kind == "sync":
            client = RegistryClient(address, retry=QUICK, timeout=timeout, sleep=_at_once)
            self._closers.append(client.close)
            return Skillset(client, **options)

        async def wait(_: float) -> None:
            return

        made = AsyncRegistryClient(address, retry=QUICK, timeout=timeout, sleep=wait)
        self._closers.append(lambda: self._runner.run(made.aclose()))
        return cast(Skillset, Awaited(AsyncSkillset(made, **options), self._runner))

    def asked(self) -> list[str]:
        """Return the requests since the last time, those of the store as ``GET /s3``."""
        seen = self.registry.seen()
        self.registry.requests.clear()
        return seen

    def close(self) -> None:
        """Close every client."""
        for close in self._closers:
            close()
        self._runner.close()


def publish(registry: Loopback, name: str, files: Mapping[str, bytes | str]) -> int:
    """Publish a skill and return its version; the requests for it are not counted."""
    archive = zipped({p: d.encode() if isinstance(d, str) else d for p, d in files.items()})
    count = len(registry.requests)
    with RegistryClient(registry.url) as client:
        version = client.publish_inline(name, archive).version
    del registry.requests[count:]
    return version


def publish_sample(
    registry: Loopback, name: str = "tidy-csv", text: str = "one", **more: str
) -> None:
    """Publish a skill with a reference, a script and a picture; ``more`` is frontmatter."""
    head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in more.items())
    files: dict[str, bytes | str] = {
        "SKILL.md": SKILL.format(name=name, text=text).replace("source:", f"{head}source:"),
        "references/more.md": f"More of {text}.\n",
        "scripts/run.py": f"print('ran {text}')\n",
        "assets/logo.png": b"\x89PNG\xff\x00" + text.encode(),
    }
    publish(registry, name, files)


def _at_once(_: float) -> None:
    return
