"""Where output goes: answers to stdout, everything else to stderr; with --json one document.

Colours and bars are for terminals only, and colours not where NO_COLOR is set.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from skill_registry_cli.failures import diagnostics_of, document_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skill_registry.errors import RegistryError
    from skill_registry.spec.model import Diagnostic

BAR_FROM_BYTES = 1024 * 1024
_STYLES = {"error": "bold red", "warning": "yellow", "collision": "yellow"}
# A stranger's escape sequences could rewrite what a terminal shows; half characters have no form.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Terminal:
    """One run's output.

    Args:
        stdout: Answers.
        stderr: Notices, warnings, refusals and bars.
        as_json: Print one JSON document instead of text for people.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._stdout = stdout
        self._stderr = stderr
        self._out = _console(stdout)
        self._err = _console(stderr)
        self._drawing = False

    def document(self, document: object) -> None:
        """Print the one JSON document, in UTF-8 whatever the terminal's encoding."""
        text = json.dumps(document, ensure_ascii=False, indent=2)
        try:
            self.data(text.encode() + b"\n")
        except UnicodeEncodeError:
            # Half a surrogate pair has no UTF-8 form, but a JSON one.
            self.data(json.dumps(document, indent=2).encode() + b"\n")

    def done(self, answer: object, sentence: str) -> None:
        """Say what was done, or print the registry's answer where JSON is asked for."""
        if self.as_json:
            self.document(answer)
        else:
            self.say(sentence)

    def data(self, data: bytes) -> None:
        """Write bytes to stdout exactly as they are."""
        self._stdout.flush()
        self._stdout.buffer.write(data)
        self._stdout.buffer.flush()

    def say(self, text: str) -> None:
        """Print a line of the answer."""
        # Where a bar is drawn, only its own console knows how to print above it.
        above = self._drawing and self._stdout.isatty()
        (self._err if above else self._out).print(Text(printable(text)), soft_wrap=True)

    def notice(self, text: str) -> None:
        """Print a line that is no part of the answer."""
        self._err.print(Text(printable(text)), soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print rows: a table on a terminal, else one line a row with tabs between."""
        if not self._stdout.isatty():
            # Not by rich, which turns tabs into blanks.
            for row in rows:
                cells = (" ".join(printable(cell).split()) for cell in row)
                self._stdout.write("\t".join(cells) + "\n")
            self._stdout.flush()
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        self._out.print(table)

    def diagnostics(self, found: Iterable[Diagnostic], prefix: str = "") -> None:
        """Print each diagnostic as ``file:line:column: severity code: message``, and its hint."""
        for each in found:
            place = ":".join(str(part) for part in (each.file, each.line, each.column) if part)
            line = Text(printable(f"{prefix if each.file else ''}{place}: " if place else ""))
            line.append(f"{each.severity.value} {printable(each.code)}", _STYLES[each.severity])
            line.append(f": {printable(each.message)}")
            self._err.print(line, soft_wrap=True)
            if each.hint:
                self._err.print(Text(printable(f"    hint: {each.hint}"), "dim"), soft_wrap=True)

    def refusal(
        self, error: RegistryError, prefix: str = "", before: Sequence[Diagnostic] = ()
    ) -> None:
        """Print why nothing was done: as the one document, or as text with every diagnostic.

        Args:
            error: Why.
            prefix: Put before the files that diagnostics name.
            before: What was found on this side already.
        """
        if self.as_json:
            self.document(document_of(error, before))
            return
        self.failure(error.code, error.message)
        self.diagnostics((*before, *diagnostics_of(error)), prefix)
        if error.code == "unauthenticated":
            self.notice("    hint: `skillctl profile show` tells who you are to which registry.")
        if available := getattr(error, "available", ()):
            self.notice(f"    available: {', '.join(available)}")

    def failure(self, code: str, message: str) -> None:
        """Print that nothing was done, as the one document or as a line."""
        if self.as_json:
            self.document({"code": code, "detail": message})
            return
        line = Text(printable(code), _STYLES["error"])
        self._err.print(line.append(f": {printable(message)}", "not bold default"), soft_wrap=True)

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[[int, int], None] | None]:
        """Give a callback that draws a bar, None where no bar belongs. ``total`` is bytes."""
        if total <= BAR_FROM_BYTES or not self._stderr.isatty():
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(*columns, TransferSpeedColumn(), console=self._err, transient=True) as bars:
            bar = bars.add_task(label, total=total)
            yield lambda sent, whole: bars.update(bar, completed=sent, total=whole)

    @contextmanager
    def downloads(self) -> Iterator[Callable[[str, int, int | None], None]]:
        """Give a callback that draws a bar for each label: bytes so far, and in all if known."""
        if not self._stderr.isatty():
            yield lambda label, so_far, total: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(*columns, TransferSpeedColumn(), console=self._err, transient=True) as bars:
            drawn: dict[str, TaskID] = {}

            def draw(label: str, so_far: int, total: int | None) -> None:
                if label not in drawn:
                    drawn[label] = bars.add_task(label, total=total)
                bars.update(drawn[label], completed=so_far, total=total)

            yield draw

    @contextmanager
    def counting(self, label: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """Give a callback that moves a bar on by one; it draws on a terminal only.

        Args:
            label: What is counted.
            total: How many there are to count; None where nobody knows.
        """
        if not self._stderr.isatty():
            yield lambda: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self._err, transient=True) as bars:
            bar = bars.add_task(label, total=total)
            self._drawing = True
            try:
                yield lambda: bars.advance(bar)
            finally:
                self._drawing = False


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Return a text with its control characters shown, not obeyed."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _console(stream: TextIO) -> Console:
    # Told, not guessed: a variable of some CI must not colour a file.
    return Console(
        file=stream, force_terminal=stream.isatty(), highlight=False, markup=False, emoji=False
    )
