"""Git repositories made by the real git program, the same bytes and commits on every machine.

They are bare. Commits are written by ``git fast-import``, so that no file system stands between the
bytes of a test and those in the repository.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Seconds since the epoch, of every commit and tag.
WHEN = 1_700_000_000
_WHO = f"Somebody <somebody@example.com> {WHEN} +0000"
_GIT_SECONDS = 60
_ABBREVIATED = re.compile(r"[0-9a-f]{4,40}")


@dataclass(frozen=True, slots=True)
class Executable:
    """A file that may be run."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, with the path that it holds."""

    target: str


@dataclass(frozen=True, slots=True)
class Submodule:
    """A commit of another repository in the place of a directory."""

    commit: str


Content = bytes | str | Executable | Link | Submodule | None


class Repository:
    """The repository in a folder, which is made unless there is one. Its first branch is ``main``.

    Every call raises ``AssertionError`` with git's own words where git refuses.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "HEAD").exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._git("init", "--quiet", "--bare", "--initial-branch=main", ".")

    @property
    def url(self) -> str:
        """Its address on this machine."""
        return self.folder.absolute().as_uri()

    @property
    def current(self) -> str:
        """The branch that commits go to, and that the host calls the default one."""
        return self._git("symbolic-ref", "--short", "HEAD").decode().strip()

    def commit(self, files: Mapping[str, Content], message: str = "Change files") -> str:
        """Commit on top of the current branch, and return the commit.

        Args:
            files: By path, what is there from now on; None takes a file or a folder away.
            message: Of the commit.
        """
        gone = [b"D " + _quoted(path) for path, content in files.items() if content is None]
        there = [
            _modification(path, content) for path, content in files.items() if content is not None
        ]
        return self._import([*gone, *there], message)

    def move(self, old: str, new: str, message: str = "Move files") -> str:
        """Commit a file or a folder to another path, and return the commit."""
        return self._import([b"R " + _quoted(old) + b" " + _quoted(new)], message)

    def branch(self, name: str, at: str | None = None) -> None:
        """Make a branch, at the current one or elsewhere."""
        self._git("branch", "--no-track", name, at or self.current)

    def checkout(self, branch: str) -> None:
        """Let commits go to a branch, which may be one that has none yet."""
        self._git("symbolic-ref", "HEAD", f"refs/heads/{branch}")

    def tag(self, name: str, at: str | None = None, *, annotated: bool = False) -> None:
        """Make a tag; an annotated one is an object of its own, which names the commit."""
        how = ("--annotate", "--message=A tag") if annotated else ()
        self._git("tag", *how, name, at or self.current)

    def reset(self, branch: str, sha: str) -> None:
        """Set a branch to a commit, as a force push does."""
        self._git("update-ref", f"refs/heads/{branch}", sha)

    def delete_branch(self, name: str) -> None:
        """Take a branch away; its commits stay."""
        self._git("update-ref", "-d", f"refs/heads/{name}")

    def delete_tag(self, name: str) -> None:
        """Take a tag away; its commits stay."""
        self._git("update-ref", "-d", f"refs/tags/{name}")

    def head(self, ref: str = "HEAD") -> str:
        """Return the commit that anything git understands names."""
        return self._git("rev-parse", "--verify", f"{ref}^{{commit}}").decode().strip()

    def find(self, ref: str) -> str | None:
        """Return the commit that a name means at a code host; None where it means none.

        A name is ``HEAD``, a branch, a tag, either of them from ``refs/`` on or without it, or a
        commit, which may be abbreviated. None of git's operators is one (``main~1``).
        """
        names = set(self._git("for-each-ref", "--format=%(refname)").decode().splitlines())
        full = [f"refs/heads/{ref}", f"refs/tags/{ref}", f"refs/{ref}", ref]
        meant = next((name for name in full if name in names), None)
        if ref == "HEAD" or (_ABBREVIATED.fullmatch(ref) and (meant is None or len(ref) == 40)):
            meant = ref
        if meant is None:
            return None
        done = self._run("rev-parse", "--verify", "--quiet", f"{meant}^{{commit}}")
        return done.stdout.decode().strip() or None

    def is_empty(self) -> bool:
        """Tell whether there is no branch and no tag."""
        return not self._git("for-each-ref", "--count=1")

    def archive(self, sha: str, prefix: str = "") -> bytes:
        """Return the zip archive that git makes of a commit; the prefix ends with ``/``."""
        return self._git("archive", "--format=zip", f"--prefix={prefix}", sha)

    def files(self, sha: str = "HEAD") -> dict[str, tuple[str, bytes]]:
        """Return mode (``100644``, ``100755``, ``120000``) and bytes of all files of a commit."""
        listed = self._git("ls-tree", "-r", "-z", "--full-tree", sha).split(b"\0")[:-1]
        entries = [line.partition(b"\t") for line in listed]
        objects = [head.split()[2] for head, _, _ in entries]
        answer = self._git("cat-file", "--batch", stdin=b"".join(o + b"\n" for o in objects))
        found: dict[str, tuple[str, bytes]] = {}
        for head, _, path in entries:
            described, _, rest = answer.partition(b"\n")
            size = int(described.split()[2])
            found[path.decode()] = (head.split()[0].decode(), rest[:size])
            answer = rest[size + 1 :]
        return found

    def _import(self, changes: list[bytes], message: str) -> str:
        branch = f"refs/heads/{self.current}"
        text = message.encode()
        lines = [f"commit {branch}", f"author {_WHO}", f"committer {_WHO}", f"data {len(text)}"]
        head = "\n".join(lines).encode() + b"\n" + text
        if self._run("rev-parse", "--verify", "--quiet", branch).returncode == 0:
            changes = [f"from {branch}^0".encode(), *changes]
        self._git(
            "fast-import", "--quiet", "--done", stdin=b"\n".join([head, *changes, b"done", b""])
        )
        return self.head(branch)

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = self._run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout

    def _run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", "-c", "core.autocrlf=false", *arguments],
            cwd=self.folder,
            env=_environment(),
            input=stdin,
            capture_output=True,
            check=False,
            timeout=_GIT_SECONDS,
        )


def _environment() -> dict[str, str]:
    """Return an environment in which git knows nothing of this machine and its user."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    name, mail, when = "Somebody", "somebody@example.com", f"{WHEN} +0000"
    people = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", mail), ("DATE", when))
    }
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    return {**kept, **people, **nothing}


def _modification(path: str, content: bytes | str | Executable | Link | Submodule) -> bytes:
    mode = "100644"
    if isinstance(content, Submodule):
        return f"M 160000 {content.commit} ".encode() + _quoted(path)
    if isinstance(content, Executable):
        mode, content = "100755", content.data
    elif isinstance(content, Link):
        mode, content = "120000", content.target
    data = content.encode() if isinstance(content, str) else content
    head = f"M {mode} inline ".encode() + _quoted(path)
    return head + f"\ndata {len(data)}\n".encode() + data


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode("utf-8", "surrogateescape")
