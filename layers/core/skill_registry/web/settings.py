"""The environment as one value, read when the first request comes, never at import."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.overrides import Retention
from skill_registry.catalog.quotas import QuotaLimits
from skill_registry.spec.model import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_DIRECT = {"LOG_LEVEL", "POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE"}


class SettingsError(ValueError):
    """An environment variable holds something that it must not; the message names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a deployment decides. Each member is the environment variable of the same name.

    Attributes:
        registry_bucket: Name of the bucket; empty for a directory store over ``skills_dir``.
        registry_administrators: IAM role ARNs of the first administrators.
        catalog_max_age: Seconds that a confirmed catalog is answered without asking the store.
        catalog_stale_age: Seconds that it is answered, marked, while the store does not answer.
        upload_expires: Seconds that a presigned upload is accepted.
        bundle_expires: Seconds that a presigned download is valid, 300 at most.
        max_skill_bytes: Bytes of an archive and of its unpacked files.
        max_files: Files of a skill.
        keep_versions: Newest revisions of a skill that are never pruned, 1 at least.
        max_outstanding_uploads: Uploads of one principal that arrived and became nothing yet.
        max_scope_skills: Skills of a scope.
        max_scope_bytes: Bytes of the current versions of a scope's skills, unpacked.
        access_max_age: Seconds that a change of ``access.json`` may take to count.
        strict_agents: Show only skills that name the caller's verified agent.
        keep_days: Days that a revision is kept, however many came after it.
        claim_subject: Name of the JWT claim that identifies the principal; the others alike.
    """

    registry_bucket: str = ""
    registry_administrators: tuple[str, ...] = ()
    skills_dir: Path = Path("skills")
    skills_strict: bool = False
    catalog_max_age: int = 0
    catalog_stale_age: int = 300
    upload_expires: int = 900
    bundle_expires: int = 300
    max_skill_bytes: int = Limits().total_bytes
    max_files: int = Limits().files
    max_outstanding_uploads: int = 100
    max_scope_skills: int = 20_000
    max_scope_bytes: int = 20 * 1024**3
    access_max_age: int = 60
    strict_agents: bool = False
    keep_versions: int = Retention().versions
    keep_days: int = Retention().days
    claim_subject: str = "sub"
    claim_teams: str = "teams"
    claim_roles: str = "roles"
    claim_agent: str = "agent"
    claim_tier: str = "tier"

    @property
    def limits(self) -> Limits:
        """The limits of a skill in this deployment."""
        return Limits(
            archive_bytes=self.max_skill_bytes,
            total_bytes=self.max_skill_bytes,
            file_bytes=min(Limits().file_bytes, self.max_skill_bytes),
            files=self.max_files,
        )

    @property
    def quotas(self) -> QuotaLimits:
        """How much principals and scopes may hold in this deployment."""
        return QuotaLimits(
            self.max_outstanding_uploads, self.max_scope_skills, self.max_scope_bytes
        )

    @property
    def retention(self) -> Retention:
        """What pruning leaves alone in this deployment."""
        return Retention(self.keep_versions, self.keep_days)

    @classmethod
    def variables(cls) -> set[str]:
        """Return the names of the environment variables that the functions read."""
        return {member.name.upper() for member in fields(cls)} | _DIRECT

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Settings:
        """Read the settings; a variable that is unset or empty leaves its default.

        Raises:
            SettingsError: A variable cannot be read.
        """
        values = {
            member.name: _value(member.name, environ[member.name.upper()].strip(), member.default)
            for member in fields(cls)
            if environ.get(member.name.upper(), "").strip()
        }
        settings = cls(**values)
        if settings.bundle_expires > 300:
            raise SettingsError("BUNDLE_EXPIRES is at most 300 seconds.")
        if settings.keep_versions < 1:
            raise SettingsError("KEEP_VERSIONS is 1 or more: the current version is always kept.")
        return settings


def _value(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() not in _FLAGS:
            raise SettingsError(f"{name.upper()} is true or false; it is {text!r}.")
        return _FLAGS[text.lower()]
    if isinstance(default, int):
        if not text.isdecimal():
            raise SettingsError(f"{name.upper()} is a whole number, 0 or more; it is {text!r}.")
        return int(text)
    if isinstance(default, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return Path(text) if isinstance(default, Path) else text
