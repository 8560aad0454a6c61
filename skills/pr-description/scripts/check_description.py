#!/usr/bin/env python3
"""Check, repair and render a pull request description that is kept as a map (a JSON file).

    check_description.py fields
    check_description.py check MAP [--base REF] [--head REF] [--repo DIR]
    check_description.py relocate MAP [--head REF] [--repo DIR]
    check_description.py render MAP --base REF --slug OWNER/NAME [--title]

fields    prints every field with its cap.
check     prints every breach of the contract. With --base also every anchor that does not lie on
          changed lines of the head commit, and every changed file that the map leaves out.
relocate  prints the map with each anchor moved to where its first line is at the head.
render    checks everything, then prints the body with links that are bound to the head commit.

Needs Python 3.11 and, but for `fields` and a `check` without --base, git on PATH.
Exit status: 0 fine, 1 the contract is broken, 2 wrong usage, an unreadable file or a git error.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.dont_write_bytecode = True  # a skill's directory holds only what its author put there

from description_map import (  # noqa: E402
    ABOVE_FOLD,
    ANCHOR,
    ANCHOR_LINES,
    GITHUB,
    LISTS,
    STATES,
    TEXTS,
    Map,
    Problem,
    above_fold,
    check_map,
    render,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

GIT_SECONDS = 60
MAP_BYTES = 256 * 1024


class UsageError(Exception):
    """The file, the revision or git itself cannot be used; nothing was checked."""


class Repository:
    """The head commit of a repository and, where a base is given, what changed since then."""

    def __init__(self, folder: str, head: str, base: str | None = None) -> None:
        self.folder = folder
        self.sha = self.commit(head)
        self.base = "" if base is None else self.merge_base(base)

    def commit(self, ref: str) -> str:
        """Return the full id of the commit that a revision names."""
        try:
            found = self.git("rev-parse", "--verify", "--end-of-options", ref + "^{commit}")
        except UsageError as error:
            raise UsageError(f"{ref!r} names no commit of {self.folder!r}: {error}") from error
        return found.strip()

    def merge_base(self, base: str) -> str:
        """Return the commit at which the change left its base."""
        start = self.commit(base)
        try:
            return self.git("merge-base", start, self.sha).strip()
        except UsageError as error:
            raise UsageError(f"no common history with {base!r}; fetch it: {error}") from error

    def git(self, *arguments: str) -> str:
        """Return what git prints.

        Raises:
            UsageError: When git is absent, refuses or does not end in time.
        """
        command = ["git", "-C", self.folder, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=True)
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip()
            raise UsageError(f"git {arguments[0]}: {said or 'failed'}") from error
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise UsageError(f"git {arguments[0]}: {error}") from error
        return done.stdout.decode(errors="replace")

    def lines(self, path: str) -> list[str] | None:
        """Return the lines of a text file at the head; None where there is no such file."""
        try:
            text = self.git("cat-file", "blob", f"{self.sha}:{path}")
        except UsageError:
            return None
        return None if "\0" in text else text.removesuffix("\n").split("\n")

    def diff(self, *arguments: str) -> str:
        """Return a diff from the base to the head, whatever the user's git settings are."""
        plain = ("--no-relative", "--no-color", "--no-ext-diff", "--no-textconv", "-M")
        return self.git("diff", *plain, self.base, self.sha, *arguments)

    def changed(self) -> dict[str, str]:
        """Return the changed paths, each with the path that it had at the base."""
        words = iter(self.diff("--name-status", "-z").split("\0"))
        paths: dict[str, str] = {}
        for status in words:
            if not status:
                break
            before = next(words)
            paths[next(words) if status[0] in "RC" else before] = before
        return paths

    def hunks(self, path: str, before: str) -> list[tuple[int, int]]:
        """Return the changed line ranges at the head; a pure deletion counts its two neighbours."""
        both = (f":(top,literal){before}", f":(top,literal){path}")
        patch = self.diff("-U0", "--inter-hunk-context=0", "--", *both)
        ranges = []
        for start, count in re.findall(r"(?m)^@@ -\S+ \+(\d+)(?:,(\d+))? @@", patch):
            first, length = int(start), int(count or 1)
            ranges.append((first, first + max(length - 1, 0) if length else first + 1))
        return ranges


def check_repository(document: Map, repository: Repository) -> Iterator[Problem]:
    """Yield what is wrong with the anchors and with the list of files, compared with the diff."""
    changed = repository.changed()
    anchors = [pointer["anchor"] for pointer in document["pointers"]]
    for index, anchor in enumerate(anchors):
        fault = anchor_fault(anchor, repository, changed)
        if fault:
            yield Problem(f"pointers[{index}].anchor", *fault)
    if not anchors and any(
        repository.lines(path) and repository.hunks(path, before)
        for path, before in changed.items()
    ):
        yield Problem("pointers", "count", "none, although the change has lines to point at")
    rest = [entry["path"] for entry in document["rest"]]
    for path in sorted(changed.keys() - {anchor["path"] for anchor in anchors}):
        if not any(covers(entry, path) for entry in rest):
            yield Problem("rest", "uncovered", f"{path} is in the diff and not in the map")
    for index, entry in enumerate(rest):
        if not any(covers(entry, path) for path in changed):
            yield Problem(f"rest[{index}]", "not_changed", f"{entry} is not part of this change")


def anchor_fault(
    anchor: Map, repository: Repository, changed: dict[str, str]
) -> tuple[str, str] | None:
    """Return the rule that an anchor breaks at the head, and the reason; None where it holds."""
    path, first, last = anchor["path"], anchor["from"], anchor["to"]
    lines = repository.lines(path)
    if lines is None:
        return "not_at_head", f"{path}: no such text file at the head"
    if path not in changed:
        return "not_changed", f"{path} is not part of this change"
    if last > len(lines):
        return "past_end", f"{path} has {len(lines)} lines"
    if not matches(lines[first - 1], anchor):
        return "moved", f"line {first} differs from first_line; try relocate"
    hunks = repository.hunks(path, changed[path])
    if not any(first <= high and low <= last for low, high in hunks):
        return "not_in_diff", f"no changed line in {path}:{first}-{last}"
    return None


def covers(entry: str, path: str) -> bool:
    """Tell whether an entry of the rest names the path; a final `/` names a whole folder."""
    return path.startswith(entry) if entry.endswith("/") else path == entry


def matches(line: str, anchor: Map) -> bool:
    """Tell whether a line is the one on which the anchor was set."""
    return bool(line.strip()[: ANCHOR["first_line"][1]] == anchor["first_line"])


def relocate(document: Map, repository: Repository) -> list[Problem]:
    """Move each anchor to the only line that equals its first line; return those left in doubt."""
    problems = []
    for index, pointer in enumerate(document["pointers"]):
        anchor = pointer["anchor"]
        lines = repository.lines(anchor["path"]) or []
        found = [number for number, line in enumerate(lines, start=1) if matches(line, anchor)]
        if anchor["from"] in found:
            continue
        if len(found) == 1:
            anchor["to"] += found[0] - anchor["from"]
            anchor["from"] = found[0]
            continue
        message = f"first_line occurs {len(found)} times in {anchor['path']}; set it by hand"
        problems.append(Problem(f"pointers[{index}].anchor", "moved", message))
    return problems


def read_map(path: str) -> object:
    """Return the parsed file; a key that occurs twice is refused.

    Raises:
        UsageError: When the file cannot be read, is over 256 KiB or is not JSON.
    """

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(found := dict(pairs)) != len(pairs):
            raise ValueError("a key occurs twice in one object")
        return found

    try:
        data = Path(path).read_bytes()
        if len(data) > MAP_BYTES:
            raise ValueError(f"{len(data)} bytes, at most {MAP_BYTES}")
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=once)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from error


def describe_fields() -> str:
    """Return the fields and their caps, one a line."""
    rows = [(name, f"text, {low}-{high}") for name, (low, high) in TEXTS.items()]
    for name, (low, high, fields) in LISTS.items():
        rows.append((name, f"list, {low}-{high} entries"))
        for key, (least, most) in fields.items():
            cap = f"text, {least}-{most}" if least else f"text, 1-{most}, optional"
            rows.append((f"{name}[].{key}", " | ".join(STATES) if key == "state" else cap))
    rows += [(f"pointers[].anchor.{key}", f"text, {a}-{b}") for key, (a, b) in ANCHOR.items()]
    rows.append(("pointers[].anchor.from, .to", f"at most {ANCHOR_LINES} lines"))
    rows.append(("all before the fold", f"at most {ABOVE_FOLD} code points"))
    return "\n".join(f"{name:<32} {cap}" for name, cap in rows)


def slug(text: str) -> str:
    """Return the argument if it names a repository on a forge."""
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not OWNER/NAME")
    return text


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    raw = argparse.RawDescriptionHelpFormatter
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    commands = cli.add_subparsers(dest="command", required=True)
    commands.add_parser("fields", help="print the fields and their caps")
    for name in ("check", "relocate", "render"):
        command = commands.add_parser(name)
        command.add_argument("map", help="the JSON file")
        command.add_argument("--repo", default=".", help="a folder of the repository (.)")
        command.add_argument("--head", default="HEAD", help="commit that is described (HEAD)")
        if name != "relocate":
            needed = name == "render"
            command.add_argument("--base", required=needed, help="branch that it will be merged to")
        if name == "render":
            command.add_argument("--slug", type=slug, required=True, help="OWNER/NAME")
            command.add_argument("--url", default=GITHUB, help="template of a link (%(default)s)")
            command.add_argument("--title", action="store_true", help="print the title instead")
    return cli


def run(options: argparse.Namespace) -> int:
    """Carry out one command: the result on stdout, problems on stderr."""
    document = read_map(options.map)
    problems = check_map(document)
    if not problems and isinstance(document, dict):
        problems = act(options, document)
    for problem in problems:
        print(f"{problem.where}: {problem.rule}: {problem.message}", file=sys.stderr)
    return 1 if problems else 0


def act(options: argparse.Namespace, document: Map) -> list[Problem]:
    """Do what needs a map whose form is right, and return what is wrong with its content."""
    if options.command == "relocate":
        problems = relocate(document, Repository(options.repo, options.head))
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return problems
    if options.base is None:
        print("form ok; anchors and coverage were not verified: give --base")
        return []
    repository = Repository(options.repo, options.head, options.base)
    problems = list(check_repository(document, repository))
    if problems:
        return problems
    if options.command == "check":
        print(f"ok at {repository.sha}: {above_fold(document)} code points above the fold")
    elif options.title:
        print(document["title"].strip())
    else:
        try:
            print(render(document, repository.sha, options.slug, options.url))
        except (KeyError, IndexError, ValueError) as error:
            raise UsageError(f"--url: cannot fill the template: {error}") from error
    return []


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    options = parser().parse_args(arguments)
    if options.command == "fields":
        print(describe_fields())
        return 0
    try:
        return run(options)
    except UsageError as error:
        print(f"check_description.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
