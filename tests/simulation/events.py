"""What the bucket tells its queue, by the rules of the template: hints that may go anywhere."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from house import event_body

from local_stack.template import read_template
from local_stack.virtualenvs import PROJECT

if TYPE_CHECKING:
    import random

    from simulation.bucket import Change

    from local_stack.template import ObjectRule


@cache
def rules() -> tuple[ObjectRule, ...]:
    """Return the notifications that the template's bucket sends."""
    return read_template(PROJECT / "template.yaml", "bucket").rules


@cache
def event_of(key: str, removed: bool) -> str | None:
    """Return the notification of a change, None where no rule asks for it."""
    kind = "ObjectRemoved" if removed else "ObjectCreated"
    for rule in rules():
        named = rule.event.removeprefix("s3:").partition(":")[0]
        if named == kind and key.startswith(rule.prefix) and key.endswith(rule.suffix):
            return event_body(key, name=f"{kind}:{'Delete' if removed else 'Put'}")
    return None


class EventQueue:
    """Messages that are under way. Any of them may come late, twice, or not at all.

    Attributes:
        seen: Every message that there ever was.
        lost: Whether the queue lets everything go.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.seen: list[str] = []
        self.lost = False

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, change: Change) -> None:
        """Tell of a change."""
        message = event_of(change.key, change.after is None)
        if message is None:
            return
        self.seen.append(message)
        if not self.lost:
            self.messages.append(message)

    def take(self, rng: random.Random, most: int) -> dict[str, str]:
        """Take some of the messages, in any order, each under an id of this delivery."""
        count = min(most, len(self.messages))
        picked = [self.messages.pop(rng.randrange(len(self.messages))) for _ in range(count)]
        return {str(number): body for number, body in enumerate(picked)}

    def give_back(self, bodies: list[str]) -> None:
        """Deliver some again."""
        self.messages.extend(bodies)
