"""Answers of the calls that administrators make, as pydantic models; see ``responses.py``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from skill_registry.catalog.findings import FINDINGS
from skill_registry.web.responses import Answer, Change, Count, Number, Scope, in_table, optional

FindingCode = Annotated[str, in_table(FINDINGS), Field(json_schema_extra={"enum": [*FINDINGS]})]
Next = Annotated[str, Field(description="`cursor` to go on with; left out at the end.")]


class Reconciled(Answer):
    """What a reconcile did. Skills are named `<scope>/<name>`."""

    uploads: Annotated[list[str], Field(description="Ids of the uploads that it published.")]
    repaired: Annotated[list[str], Field(description="Skills that something was written for.")]
    failed: list[str]
    drift: Annotated[list[str], Field(description="Skills whose plain tree somebody edited.")]
    pruned: Annotated[
        dict[str, list[Number]], Field(description="Versions that lost their files, by skill.")
    ]
    next: Next = optional()


class Rebuilt(Answer):
    """The catalog that a rebuild wrote."""

    scope: Scope
    catalog_version: Count
    skills: Count


class Finding(Answer):
    """A disagreement in the bucket."""

    code: FindingCode
    skill: Annotated[str | None, Field(description="`<scope>/<name>`.")]
    key: Annotated[str, Field(description="The object, or the prefix.")]
    detail: str
    fixable: bool
    hint: str = optional()


class Examined(Answer):
    """What the doctor found, and what it repaired."""

    examined: Annotated[int, Field(ge=0, description="Skills that were looked at.")]
    findings: list[Finding]
    repaired: list[Finding]
    next: Next = optional()


class RoleGrant(Answer):
    """What an IAM role may do."""

    role: Annotated[str, Field(description="ARN of the role.")]
    roles: list[Literal["reader", "author", "maintainer", "admin"]]
    scopes: list[Scope]
    agent: str = optional()
    tier: Literal["lite", "ultra"] = optional()


class Access(Answer):
    """Who may do what, of those who call as an IAM role."""

    grants: list[RoleGrant]
    changes: Annotated[list[Change], Field(description="The last ones, newest last.")]
