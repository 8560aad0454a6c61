"""View: the body of a skill (L2), one of its files (L3), or a bundle of all of them."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skill_registry.catalog.facts import SkillLoaded, SkillRefused, untold
from skill_registry.catalog.resolving import Refusal
from skill_registry.errors import FileNotFound, SkillNotFound, Unavailable
from skill_registry.spec.archive import write_archive
from skill_registry.spec.fences import body_of
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.names import clean_path, is_directory_name
from skill_registry.store import keys
from skill_registry.store.base import IfAbsent
from skill_registry.store.keys import SkillId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from skill_registry.catalog.facts import Fact
    from skill_registry.catalog.listing import ListSkills
    from skill_registry.catalog.loading import Loaded
    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.resolving import Pin, Resolver
    from skill_registry.spec.model import SkillFile
    from skill_registry.store.base import SkillStore

NEAREST = 5


@dataclass(frozen=True, slots=True)
class View:
    """One file of a skill as a caller sees it.

    Attributes:
        text: What a model reads: SKILL.md without frontmatter, another file's text verbatim; None
            for a file that is not UTF-8 text.
        file: The stored file.
    """

    loaded: Loaded
    file: SkillFile
    text: str | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A whole skill as one presigned download.

    Attributes:
        sha256: Hex digest of the archive at ``url``.
        size: Bytes of the archive, None where only its writer knew it.
        expires: Seconds that the URL is valid.
    """

    loaded: Loaded
    url: str
    sha256: str
    size: int
    expires: int


class ViewSkill:
    """The view use case: one skill, one state, whatever is asked of it."""

    def __init__(
        self,
        store: SkillStore,
        resolver: Resolver,
        listing: ListSkills,
        *,
        bundle_expires: int = 300,
        tell: Callable[[Fact], None] = untold,
    ) -> None:
        self._store = store
        self._resolver = resolver
        self._listing = listing
        self._bundle_expires = bundle_expires
        self._tell = tell

    def view(
        self,
        principal: Principal,
        name: str,
        *,
        scopes: tuple[str, ...] = (),
        path: str | None = None,
        pin: Pin = None,
    ) -> View:
        """Read a skill's body, or the file at ``path``.

        Raises:
            PathInvalid: The path is not one inside a skill. Nothing was read.
            SkillNotFound: No such skill for this caller.
            FileNotFound: The skill has no such file; the nearest paths are named.
            VersionNotFound: The pinned version never was.
            Gone: Its bytes were pruned.
        """
        wanted = clean_path(path)
        loaded = self.load(principal, name, scopes, pin)
        file = loaded.files.get(wanted)
        if file is None:
            near = _nearest(wanted, loaded.files)
            raise FileNotFound(f"`{name}` has no file `{wanted}`.", available=near)
        self._tell(_fact(loaded, file, principal, wanted))
        return View(loaded, file, _text(file))

    def bundle(
        self,
        principal: Principal,
        name: str,
        *,
        scopes: tuple[str, ...] = (),
        pin: Pin = None,
    ) -> Bundle:
        """Sign a download of the whole skill. A vendored one is archived at its first download."""
        loaded = self.load(principal, name, scopes, pin)
        self._tell(_fact(loaded, loaded.files[SKILL_MD], principal, None))
        return self.bundle_of(loaded)

    def bundle_of(self, loaded: Loaded) -> Bundle:
        """Sign a download of a skill that was loaded."""
        skill = loaded.skill
        if loaded.revision is not None:
            key = keys.revision(skill, loaded.revision.number)
            sha256, size = loaded.revision.sha256, loaded.revision.size
        else:
            archive = write_archive(loaded.files.values())
            sha256, size = hashlib.sha256(archive).hexdigest(), len(archive)
            # Named by its own digest, so that whoever writes it first wrote the same.
            key = keys.snapshot(skill, sha256)
            if self._store.head(key) is None:
                self._store.put(key, archive, condition=IfAbsent(), content_type="application/zip")
        url = self._store.presign_get(key, expires=self._bundle_expires, filename=_filename(loaded))
        return Bundle(loaded, url, sha256, size, self._bundle_expires)

    def load(
        self, principal: Principal, name: str, scopes: tuple[str, ...], pin: Pin = None
    ) -> Loaded:
        """Load the skill that this caller means by a name.

        Raises:
            SkillNotFound: No such skill for this caller; some that it may load are named.
            VersionNotFound: The pinned version never was.
            Gone: Its bytes were pruned.
        """
        asked = principal.read_scopes(scopes)
        loaded: Loaded | Refusal = Refusal("unknown" if asked else "scope")
        if asked and is_directory_name(name):
            skills = [SkillId(scope, name) for scope in asked]
            loaded = self._resolver.resolve(skills, principal, pin)
        if isinstance(loaded, Refusal):
            self._tell(SkillRefused(name[:64], loaded.reason, agent=principal.agent_name))
            raise SkillNotFound(
                f"No skill `{name[:64]}` that you may load.",
                available=self._available(principal, asked),
            )
        return loaded

    def _available(self, principal: Principal, scopes: Sequence[str]) -> list[str]:
        try:
            return self._listing.names(principal, tuple(scopes))
        except Unavailable:
            # A catalog that cannot be read makes no other answer out of "not found".
            return []


def _fact(loaded: Loaded, file: SkillFile, principal: Principal, path: str | None) -> SkillLoaded:
    meta = loaded.meta
    return SkillLoaded(
        skill=loaded.skill.name,
        description=meta.description if meta else "",
        version=loaded.version,
        scope=loaded.skill.scope,
        body_bytes=len(file.data),
        path=path,
        agent=principal.agent_name,
        source=meta.source if meta else None,
        upstream=meta.upstream if meta else None,
    )


def _nearest(wanted: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that were probably meant, whatever their letter case; else the first few."""
    folded = {path.casefold(): path for path in paths}
    near = difflib.get_close_matches(wanted.casefold(), folded, n=NEAREST, cutoff=0.5)
    return [folded[path] for path in near] or sorted(folded.values())[:NEAREST]


def _text(file: SkillFile) -> str | None:
    if file.path == SKILL_MD:
        return body_of(file.data)
    try:
        return file.data.decode()
    except UnicodeDecodeError:
        return None


def _filename(loaded: Loaded) -> str:
    version = f"-v{loaded.version}" if isinstance(loaded.version, int) else ""
    return f"{loaded.skill.name}{version}.zip"
