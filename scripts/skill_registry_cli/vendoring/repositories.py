"""Addresses of repositories: which a manifest may name, and what is asked where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

GITHUB = "https://github.com"
# The one word that is no host: repositories on this machine, through the git program.
FILES = "file"

_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository.

    Attributes:
        url: As it is written down: without a trailing slash or ``.git``.
        origin: Scheme and host of a code host; ``""`` for a directory of this machine.
        slug: ``owner/name``; of a directory its path.
    """

    url: str
    origin: str
    slug: str

    @property
    def api(self) -> str:
        """Where the code host's REST API is (GitHub; GitHub Enterprise Server: ``/api/v3``)."""
        return "https://api.github.com" if self.origin == GITHUB else f"{self.origin}/api/v3"

    def page(self, commit: str, path: str) -> str:
        """Return the address at which people read a file of a commit."""
        return f"{self.url}/blob/{commit}/{quote(path)}"


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Where sources may lie besides GitHub.

    Attributes:
        origins: Like ``https://git.example.com``.
        files: Whether ``file://`` is one of them.
    """

    origins: frozenset[str] = frozenset({GITHUB})
    files: bool = False

    @classmethod
    def named(cls, words: tuple[str, ...]) -> AllowedHosts:
        """Add what a setting names: hosts, whole origins, or the word ``file``.

        Raises:
            ValueError: A word is none of these; its text says which.
        """
        origins = {GITHUB}
        for word in words:
            if word == FILES:
                continue
            origin = word.rstrip("/") if "://" in word else f"https://{word}"
            scheme, _, host = origin.partition("://")
            if scheme not in {"https", "http"} or not _HOST.fullmatch(host):
                raise ValueError(word)
            origins.add(origin)
        return cls(frozenset(origins), FILES in words)

    def repository(self, url: str) -> Repository | None:
        """Read an address; None for one that is none, or not allowed."""
        bare = url.removesuffix("/").removesuffix(".git")
        try:
            parts = urlsplit(bare)
        except ValueError:
            return None
        if parts.query or parts.fragment or "@" in parts.netloc:
            return None
        if parts.scheme == FILES:
            path = unquote(parts.path)
            usable = self.files and not parts.netloc and path.startswith("/") and "\0" not in path
            return Repository(bare, "", path) if usable else None
        origin, (_, *names) = f"{parts.scheme}://{parts.netloc}", parts.path.split("/")
        if origin not in self.origins or len(names) != 2:
            return None
        owner, name = names
        if not _OWNER.fullmatch(owner) or not _NAME.fullmatch(name) or not name.strip("."):
            return None
        return Repository(bare, origin, f"{owner}/{name}")
