"""What the registry answers to operators, as values, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skill_registry.agent.fields import Fields
from skill_registry.agent.problems import AnswerInvalid
from skill_registry.agent.reading import read_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """What an operator decided about a skill.

    Attributes:
        agents: Who may see it; None leaves that to its frontmatter.
        hidden: Whether the caller wants no skill of this name, from whatever scope.
        sealed: Whether a skill of this name comes from ``system`` or from nowhere.
        prune_below: Versions below it have lost their bytes, but for those with a label.
    """

    name: str
    scope: str
    enabled: bool
    agents: tuple[str, ...] | None
    hidden: bool
    sealed: bool
    labels: Mapping[str, int]
    prune_below: int
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Purged:
    """A version whose bytes are gone.

    Attributes:
        removed: Stored versions of objects that were removed.
        also_in: Versions that have a file of it, which the current one has no more: the paths.
    """

    name: str
    scope: str
    version: int
    removed: int
    also_in: Mapping[int, tuple[str, ...]]
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A catalog that says what is there. ``skills`` counts its entries."""

    scope: str
    catalog_version: int
    skills: int
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What one run of reconcile did; skills are named ``scope/name``.

    Attributes:
        uploads: Ids of uploads that it published.
        repaired: Skills that were not in step.
        failed: Skills, or whole scopes, that could not be repaired.
        drift: Skills whose plain tree was edited by hand; it stays.
        pruned: Versions that lost their bytes, by skill.
        next: Where the next run goes on.
    """

    uploads: tuple[str, ...]
    repaired: tuple[str, ...]
    failed: tuple[str, ...]
    drift: tuple[str, ...]
    pruned: Mapping[str, tuple[int, ...]]
    next: str | None
    answer: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement that the doctor found.

    Attributes:
        skill: ``scope/name``, None where it concerns a scope or the bucket.
        key: The object, or the prefix, that is not as it should be.
        fixable: Whether a repair mends it.
        hint: What a person can do where it does not.
    """

    code: str
    skill: str | None
    key: str
    detail: str
    fixable: bool
    hint: str | None


@dataclass(frozen=True, slots=True)
class Examined:
    """What one run of the doctor found: what is left, and what it repaired."""

    examined: int
    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...]
    next: str | None
    answer: Mapping[str, Any] = field(repr=False, compare=False)


def read_settings(response: httpx.Response) -> SkillSettings:
    """Read what is decided about a skill."""
    answer = read_fields(response)
    agents = answer.values.get("agents")
    return SkillSettings(
        name=answer.text("name"),
        scope=answer.text("scope"),
        enabled=answer.values.get("enabled") is True,
        agents=None if agents is None else answer.words("agents"),
        hidden=answer.values.get("hidden") is True,
        sealed=answer.values.get("sealed") is True,
        labels=answer.wholes("labels"),
        prune_below=answer.maybe_whole("prune_below") or 0,
        answer=answer.values,
    )


def read_purged(response: httpx.Response) -> Purged:
    """Read what a purge did."""
    answer = read_fields(response)
    also_in = Fields(answer.mapping("also_in"))
    if not all(number.isdecimal() for number in also_in.values):
        raise AnswerInvalid("The answer's 'also_in' is not by version: no registry answers so.")
    return Purged(
        name=answer.text("name"),
        scope=answer.text("scope"),
        version=answer.whole("version"),
        removed=answer.whole("removed"),
        also_in={int(number): also_in.words(number) for number in also_in.values},
        answer=answer.values,
    )


def read_rebuilt(response: httpx.Response) -> Rebuilt:
    """Read what a catalog is now."""
    answer = read_fields(response)
    return Rebuilt(
        answer.text("scope"),
        answer.whole("catalog_version"),
        answer.whole("skills"),
        answer.values,
    )


def read_reconciled(response: httpx.Response) -> Reconciled:
    """Read what a run of reconcile did."""
    answer = read_fields(response)
    pruned = Fields(answer.mapping("pruned"))
    return Reconciled(
        uploads=answer.words("uploads"),
        repaired=answer.words("repaired"),
        failed=answer.words("failed"),
        drift=answer.words("drift"),
        pruned={skill: pruned.numbers(skill) for skill in pruned.values},
        next=answer.maybe_text("next"),
        answer=answer.values,
    )


def read_examined(response: httpx.Response) -> Examined:
    """Read what a run of the doctor found."""
    answer = read_fields(response)
    return Examined(
        examined=answer.whole("examined"),
        findings=tuple(_finding(item) for item in answer.items("findings")),
        repaired=tuple(_finding(item) for item in answer.items("repaired", required=False)),
        next=answer.maybe_text("next"),
        answer=answer.values,
    )


def _finding(item: Fields) -> Finding:
    return Finding(
        code=item.text("code"),
        skill=item.maybe_text("skill"),
        key=item.text("key"),
        detail=item.text("detail"),
        fixable=item.values.get("fixable") is True,
        hint=item.maybe_text("hint"),
    )
