"""Bodies of requests, as pydantic models: the part of the contract that clients write."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from skill_registry.errors import RequestInvalid

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Message = Annotated[str, Field(max_length=300)]
Number = Annotated[int, Field(ge=1, lt=10**9)]
Cursor = Annotated[str, Field(min_length=1, max_length=1024)]
Agent = Annotated[str, Field(min_length=1, max_length=64)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NewUpload(_Body):
    """Announces an upload. With size (bytes) and sha256 the target takes exactly those bytes."""

    name: str
    size: Annotated[int, Field(gt=0)] | None = None
    sha256: Sha256 | None = None
    message: Message | None = None

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


class Purge(_Body):
    """Purges a version, by its number alone: labels move."""

    version: Number
    reason: Message | None = None


class Configure(_Body):
    """Changes what an operator decides. What is left out stays; null takes away.

    ``agents`` names who may see the skill; null leaves that to its frontmatter.
    """

    enabled: bool | None = None
    agents: Annotated[list[Agent], Field(min_length=1, max_length=100)] | None = None
    labels: dict[str, Number | None] = Field(default_factory=dict)
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
        RequestInvalid: ``body_invalid``, naming every member that is wrong.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        problems = "; ".join(
            f"`{'.'.join(map(str, problem['loc'])) or 'body'}`: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        )
        raise RequestInvalid(f"The body is wrong: {problems}.", code="body_invalid") from None
