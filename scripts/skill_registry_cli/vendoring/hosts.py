"""What a sync asks of where repositories are: the commit of a ref, and the archive of a commit."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Protocol

from skill_registry.spec.text import shown
from skill_registry_cli.vendoring.manifest import COMMIT
from skill_registry_cli.vendoring.problems import VendoringRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    from skill_registry_cli.vendoring.repositories import Repository

    # Called with the bytes so far, and the bytes in all where the host says how many.
    Progress = Callable[[int, int | None], None]

# Far more than any repository of skills has; a disk must not be filled.
MOST_ARCHIVE_BYTES = 1024 * 1024 * 1024
# Seconds. git on this machine waits for nobody.
_GIT_TIMEOUT = 300
# What this user's settings would make of files on their way into an archive.
_BYTES_AS_THEY_ARE = (
    *("-c", "core.autocrlf=false", "-c", "core.eol=lf", "-c", f"core.attributesFile={os.devnull}"),
)
_OUR_SETTINGS = {
    "GIT_ATTR_NOSYSTEM": "1",
    # Other objects in the place of the commit's own, which no clone has.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
# What git would compute with; no name of a ref has it (git-check-ref-format).
_OPERATOR = re.compile(r"[~^:?*\[\\\s]|\.\.|@\{")
_HEX = re.compile(r"[0-9a-f]{7,40}")


class CodeHost(Protocol):
    """Where repositories are. Both calls raise ``VendoringRefused``, with a code that says why."""

    def resolve(self, repository: Repository, ref: str) -> str:
        """Return the commit, 40 hex digits, that a branch, tag or commit names now."""
        ...

    def archive(
        self, repository: Repository, commit: str, target: BinaryIO, progress: Progress
    ) -> None:
        """Write the zip archive of a commit to an empty file."""
        ...


class LocalRepositories:
    """Repositories of this machine (``file://``), through the git program."""

    def resolve(self, repository: Repository, ref: str) -> str:
        """As ``CodeHost``."""
        self._known(repository)
        names = () if _OPERATOR.search(ref) else _meanings(ref)
        for name in names:
            asked = f"{name}^{{commit}}"
            done = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", asked)
            commit = done.stdout.decode("ascii", "replace").strip()
            if done.returncode == 0 and COMMIT.fullmatch(commit):
                return commit
        message = f"{repository.url} has no branch, tag or commit {shown(ref)}."
        raise VendoringRefused(message, code="ref_not_found")

    def archive(
        self, repository: Repository, commit: str, target: BinaryIO, progress: Progress
    ) -> None:
        """As ``CodeHost``."""
        self._known(repository)
        asked = ("archive", "--format=zip", "--prefix=repository/", commit)
        done = _git(repository, *asked, into=target, settings=_no_filters(repository))
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip()
            message = f"git cannot make an archive of {repository.url} at {commit}: {why}"
            raise VendoringRefused(message, code="ref_not_found")

    def _known(self, repository: Repository) -> None:
        if not _is_top(repository):
            message = f"There is no git repository at {repository.url}, or none for this user."
            raise VendoringRefused(message, code="upstream_not_found")


def _meanings(ref: str) -> tuple[str, ...]:
    """Return what a ref may name, as a code host reads it: a branch before a tag of that name."""
    names = (f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/{ref}")
    return (*names, ref) if ref == "HEAD" or _HEX.fullmatch(ref) else names


def _is_top(repository: Repository) -> bool:
    """Tell whether git finds a repository in the directory itself, and not in one around it."""
    found = _git(repository, "rev-parse", "--is-inside-work-tree", "--show-prefix")
    if found.stdout == b"true\n\n":
        return True
    # A bare one, or the .git of a clone.
    found = _git(repository, "rev-parse", "--absolute-git-dir")
    place = os.fsdecode(found.stdout.removesuffix(b"\n"))
    return found.returncode == 0 and os.path.realpath(place) == os.path.realpath(repository.slug)


def _no_filters(repository: Repository) -> dict[str, str]:
    """Return variables that turn off the filters of this user: they run programs on each file."""
    asked = ("config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    keys = _git(repository, *asked).stdout.split(b"\0")
    drivers = {os.fsdecode(key).rpartition(".")[0] for key in keys if key}
    words = {"smudge": "", "process": "", "required": "false"}
    pairs = [(f"{each}.{key}", word) for each in sorted(drivers) for key, word in words.items()]
    # As variables, since the name of a driver may have a "=".
    settings = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, word) in enumerate(pairs):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": word}
    return settings


def _git(
    repository: Repository,
    *arguments: str,
    into: BinaryIO | None = None,
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    # Variables that name another repository come with hooks of git, and would win.
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        return subprocess.run(
            ["git", *_BYTES_AS_THEY_ARE, "-C", repository.slug, *arguments],
            check=False,
            env={**kept, **_OUR_SETTINGS, **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=into or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=_GIT_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        message = f"The git program cannot be run: {failure}."
        raise VendoringRefused(message, code="upstream_unreachable") from failure
