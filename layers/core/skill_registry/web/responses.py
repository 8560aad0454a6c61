"""Answers as pydantic models: what all of them are made of, and the problem.

These models and those of ``*_responses.py`` are the contract that ``openapi.json`` is generated
from and that the tests hold every answer against. No function imports them: an answer is written
by its route, and a cold start pays for no model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from skill_registry.spec.diagnostics import CODES
from skill_registry.web.codes import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Collection


class Answer(BaseModel):
    """A JSON object with these members and no others."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def optional(*, description: str | None = None) -> Any:
    """Declare a member that is left out where there is nothing to say; it is never null."""
    return Field(default_factory=lambda: None, description=description)


def in_table(table: Collection[str]) -> AfterValidator:
    """Let a text pass that is in a table of the code."""

    def check(text: str) -> str:
        if text not in table:
            raise ValueError(f"{text!r} is not in the table")
        return text

    return AfterValidator(check)


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="Hex digest.")]
UploadId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Scope = Annotated[
    str,
    Field(
        max_length=64,
        pattern="^(system|team-[a-z0-9]+(-[a-z0-9]+)*|user-[0-9a-f]{32})$",
        description="`system`, `team-<slug>`, or `user-` and the hash of a subject.",
    ),
]
Number = Annotated[int, Field(ge=1, description="Number of a version.")]
Version = Annotated[
    int | str | None,
    Field(
        description="A number where the skill was published; of a directory in the bucket what its"
        " frontmatter says, or null."
    ),
]
Count = Annotated[int, Field(ge=0)]
Bytes = Annotated[int, Field(ge=0, description="Bytes.")]
Mode = Literal["0644", "0755"]
CatalogVersions = Annotated[
    dict[Scope, Count],
    Field(description="Version of the catalog of each scope that was asked. It never decreases."),
]

DiagnosticCode = Annotated[str, in_table(CODES), Field(json_schema_extra={"enum": [*CODES]})]
ProblemCode = Annotated[str, in_table(PROBLEMS), Field(json_schema_extra={"enum": [*PROBLEMS]})]


class Diagnostic(Answer):
    """One problem of a skill, named exactly. Members that are not known are left out."""

    severity: Literal["error", "warning", "collision"]
    code: DiagnosticCode
    message: str
    field: str = optional(description="Key of the frontmatter, dotted for nested ones.")
    file: str = optional(description="Path in the skill, or in the archive.")
    line: Annotated[int, Field(ge=1)] = optional()
    column: Annotated[int, Field(ge=1)] = optional(description="In code points.")
    limit: int = optional(description="The bound that was crossed.")
    actual: int | str = optional(description="The measured value.")
    hint: str = optional(description="What mends it.")


class Change(Answer):
    """Who changed what, when and why."""

    who: str
    when: Annotated[str, Field(description="RFC 3339, UTC.")]
    what: dict[str, Any]
    why: str = optional()


class Problem(Answer):
    """An error (RFC 9457). Programs switch on `code`; codes are only ever added."""

    type: Annotated[str, Field(pattern="^urn:skill-registry:problem:[a-z0-9_]+$")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    code: ProblemCode
    detail: Annotated[str, Field(description="What is wrong, and what to do.")]
    instance: str = optional(description="Names the request in the logs.")
    diagnostics: list[Diagnostic] = optional(description="All that is wrong with the skill.")
    available: list[str] = optional(description="Names or paths that are there.")
    current: int | None = optional(description="The version now, null where there is no skill.")


class GatewayMessage(Answer):
    """What API Gateway answers itself, before a function is asked."""

    message: str
