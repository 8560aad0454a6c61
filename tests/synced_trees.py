"""A tree of vendored skills, the manifest that it follows, and the sync that fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from command_line import Capture, Run

if TYPE_CHECKING:
    from pathlib import Path

    from code_host import CodeHost


def skill_md(name: str, body: str = "Do it.\n", **more: str) -> str:
    lines = "".join(f"{key}: {value}\n" for key, value in more.items())
    return f"---\nname: {name}\ndescription: Does {name}. Use when asked.\n{lines}---\n{body}"


class Place:
    """A tree that takes skills from one repository, reached in one way."""

    def __init__(self, root: Path, repo: str, allow: str, host: CodeHost | None) -> None:
        self.root, self.repo, self.allow, self.host = root, repo, allow, host
        root.mkdir()
        self.write("alpha", "beta")

    def write(self, *names: str, ref: str = "main", more: str = "") -> None:
        """Write the manifest anew, without a commit."""
        lines = "".join(
            f"  - name: {name}\n    source: kit\n    agents: [review]\n"
            f"    path: {'other' if name == 'gamma' else 'skills'}/{name}  # there\n"
            for name in names
        )
        (self.root / "manifest.yaml").write_text(
            f"# Ours.\nsources:\n  kit:\n    repo: {self.repo}\n    ref: {ref}  # follow\n"
            f"skills:\n{lines}{more}"
        )

    @property
    def manifest(self) -> str:
        return (self.root / "manifest.yaml").read_text()

    def add(self, name: str, path: str | None = None) -> None:
        """Add an entry to the manifest as it is."""
        entry = (
            f"  - {{name: {name}, source: kit, path: {path or f'skills/{name}'}, agents: [x]}}\n"
        )
        (self.root / "manifest.yaml").write_text(self.manifest + entry)

    def sync(self, capture: Capture, *more: str) -> Run:
        return Run(capture, "vendor", "sync", "--dir", self.root, "--allow", self.allow, *more)

    def check(self, capture: Capture) -> Run:
        return Run(capture, "vendor", "check", "--dir", self.root, "--allow", self.allow)

    def requests(self) -> list[str]:
        """Return the paths that the code host was asked for, and forget them."""
        assert self.host is not None
        paths = [request.path.partition("?")[0] for request in self.host.requests]
        self.host.requests.clear()
        return paths
