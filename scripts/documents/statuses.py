"""Which HTTP status each problem code comes with, as the classes of the errors say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.errors import RegistryError, RequestInvalid, TooLarge
from skill_registry.web.codes import PROBLEMS
from skill_registry.web.problems import status_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# Codes that are narrower than those of a class are of requests that are malformed, but for these.
NARROWER: dict[str, type[RegistryError]] = {"use_upload": TooLarge}


def status_of_class(kind: type[RegistryError]) -> int:
    """Return the status of every error of a class."""
    return status_of(kind.__new__(kind)).value


def codes_of(status: int) -> list[str]:
    """Return the codes that a problem of this status may have, in the order of their table."""
    known = {kind.code: kind for kind in _classes(RegistryError)} | NARROWER
    return [code for code in PROBLEMS if status_of_class(known.get(code, RequestInvalid)) == status]


def _classes(root: type[RegistryError]) -> Iterator[type[RegistryError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _classes(kind)
