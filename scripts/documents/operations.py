"""What a call takes and gives, beyond its route: the nouns of the table of operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from pydantic import BaseModel


class Raw(Enum):
    """What a body is where it is no JSON."""

    TEXT = "text"
    BYTES = "bytes"


Models = tuple[type[BaseModel], ...]
Content = Mapping[str, Models | Raw]

JSON = "application/json"
MARKDOWN = "text/markdown"
XML = "application/xml"
PLAIN = "text/plain"
DIFF = "text/x-diff"
ZIP = "application/zip"
OCTETS = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries.

    Attributes:
        content: The models by media type, any of which it may be.
        required: Whether the call has to have one.
    """

    content: Content
    required: bool = True


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of an operation.

    Attributes:
        content: The models by media type, any of which it may be; empty for an empty body.
        headers: Names of headers that it always has.
        may_have: Names of headers that it has where there is something to say.
        links: By operation id, a parameter and the expression that gives its value.
    """

    text: str
    content: Content = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()
    links: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """What the document says of one route.

    Attributes:
        takes: Names of parameters in ``documents.parameters``, besides those in the path.
        gives: The answers by status, refusals aside.
        refuses: Statuses of problems, besides those that every call has.
    """

    id: str
    summary: str
    text: str
    takes: tuple[str, ...]
    gives: Mapping[int, Reply]
    refuses: tuple[int, ...]
    body: Body | None = None


# Every call may be answered so: by API Gateway, or by the function.
COMMON_REFUSALS = (400, 401, 403, 413, 429, 500, 503)

# Statuses that API Gateway answers with as well, in a form of its own.
OF_THE_GATEWAY = frozenset({401, 403, 413, 429, 500, 503})

VALIDATORS = ("ETag", "Cache-Control", "Vary")

NOT_MODIFIED = Reply("The client has this representation already.", {}, VALIDATORS)
