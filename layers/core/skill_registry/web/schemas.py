"""Bodies of requests, as pydantic models: the part of the contract that clients write."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from skill_registry.catalog.freshness import MOST_NAMES
from skill_registry.errors import RequestInvalid
from skill_registry.web.body_errors import body_problems

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Message = Annotated[str, Field(max_length=300)]
Number = Annotated[int, Field(ge=1, lt=10**9)]
Cursor = Annotated[str, Field(min_length=1, max_length=1024)]
Agent = Annotated[str, Field(min_length=1, max_length=64)]

# What a refusal repeats of a body that somebody fills on purpose.
_MOST_PROBLEMS = 20
_LONGEST_PLACE = 100


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NewUpload(_Body):
    """Announces an upload. With size (bytes) and sha256 the target takes exactly those bytes.

    With ``dry_run`` what arrives is looked at, and never published.
    """

    name: str
    size: Annotated[int, Field(gt=0)] | None = None
    sha256: Sha256 | None = None
    message: Message | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _both_or_none(self) -> NewUpload:
        if (self.size is None) != (self.sha256 is None):
            raise ValueError("give size and sha256 together, or neither")
        return self


class InlineFiles(_Body):
    """A small skill of text files, by path."""

    files: dict[str, str]
    message: Message | None = None


class Rollback(_Body):
    """Goes back to a version: its number, or ``@`` and a label."""

    version: int | str
    message: Message | None = None


class Copy(_Body):
    """Publishes a skill in the scope ``to``, as it is in another one.

    ``version`` is a number, or ``@`` and a label; without it, the current one.
    """

    to: str
    version: int | str | None = None
    message: Message | None = None


class Purge(_Body):
    """Purges a version, by its number alone: labels move."""

    version: Number
    reason: Message | None = None


class Configure(_Body):
    """Changes what an operator decides. What is left out stays; null takes away.

    ``agents`` names who may see the skill; null leaves that to its frontmatter. ``hidden`` is for
    the caller's own scope, ``sealed`` for ``system``.
    """

    enabled: bool | None = None
    agents: Annotated[list[Agent], Field(min_length=1, max_length=100)] | None = None
    hidden: bool | None = None
    sealed: bool | None = None
    labels: dict[str, Number | None] = Field(default_factory=dict)
    reason: Message | None = None


class Check(_Body):
    """Names skills with the versions that were loaded, as a listing or a view showed them."""

    skills: Annotated[dict[str, int | str | None], Field(max_length=MOST_NAMES)]


class Grant(_Body):
    """What a role may do: some of reader, author, maintainer, admin; and in which scopes."""

    roles: list[str]
    scopes: list[str] = Field(default_factory=list)
    agent: str | None = None
    tier: str | None = None


class PatchAccess(_Body):
    """Grants something to an IAM role, named by its ARN; null takes away what it has."""

    role: str
    grant: Grant | None
    reason: Message | None = None


class Reconcile(_Body):
    """Goes on where the run with this ``next`` ended."""

    cursor: Cursor | None = None


class Rebuild(_Body):
    """Rebuilds the catalog of a scope."""

    scope: str


class Doctor(_Body):
    """Examines everything, one scope, or one skill; with ``fix`` repairs what can be."""

    scope: str | None = None
    name: str | None = None
    fix: bool = False
    cursor: Cursor | None = None

    @model_validator(mode="after")
    def _one_skill_has_no_next(self) -> Doctor:
        if self.name is not None and self.cursor is not None:
            raise ValueError("give a name or a cursor, not both")
        return self


B = TypeVar("B", bound=_Body)


def read_body(model: type[B], document: dict[str, Any]) -> B:
    """Read a JSON object as a model.

    Raises:
        RequestInvalid: ``body_invalid``, naming the members that are wrong, 20 at most.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        problems = body_problems(found, document)
        raise RequestInvalid(f"The body is wrong: {problems}.", code="body_invalid") from None
