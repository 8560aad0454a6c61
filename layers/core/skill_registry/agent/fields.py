"""Typed reading of a JSON object whose sender is not to be trusted with its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skill_registry.agent.problems import AnswerInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object. Each method raises ``AnswerInvalid`` naming the member that is wrong."""

    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return a text member."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "text")
        return value

    def maybe_text(self, name: str) -> str | None:
        """Return a text member, None where it is missing or null."""
        return None if self.values.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        """Return an integer member."""
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, "an integer")
        return value

    def maybe_whole(self, name: str) -> int | None:
        """Return an integer member, None where it is missing or null."""
        return None if self.values.get(name) is None else self.whole(name)

    def version(self, name: str) -> int | str | None:
        """Return a version: an integer, a text, or None."""
        value = self.values.get(name)
        return value if isinstance(value, str) else self.maybe_whole(name)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return an object member, empty where it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return value

    def texts(self, name: str) -> Mapping[str, str]:
        """Return an object member whose values are text, empty where it is missing."""
        value = self.mapping(name)
        if not all(isinstance(item, str) for item in value.values()):
            raise self._wrong(name, "an object of texts")
        return value

    def wholes(self, name: str) -> Mapping[str, int]:
        """Return an object member whose values are integers, empty where it is missing."""
        return {key: Fields(self.mapping(name)).whole(key) for key in self.mapping(name)}

    def words(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, empty where it is missing or null."""
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(name, "a list of texts")
        return tuple(value)

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers, empty where it is missing or null."""
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise self._wrong(name, "a list of integers")
        return tuple(value)

    def maybe_object(self, name: str) -> Fields | None:
        """Return an object member, None where it is missing or null."""
        return None if self.values.get(name) is None else Fields(self.mapping(name))

    def items(self, name: str, *, required: bool = True) -> list[Fields]:
        """Return a list of objects; empty where it is missing and not required."""
        value = self.values.get(name)
        if value is None and not required:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(name, "a list of objects")
        return [Fields(item) for item in value]

    def _wrong(self, name: str, kind: str) -> AnswerInvalid:
        return AnswerInvalid(f"The answer's {name!r} is not {kind}: no registry answers so.")
