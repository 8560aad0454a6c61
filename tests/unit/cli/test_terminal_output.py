"""What is printed to a terminal and what to a file: colours, bars, and strangers' texts."""

from __future__ import annotations

import io

import pytest

from skill_registry.errors import SkillInvalid
from skill_registry.spec.diagnostics import Place, error, warning
from skill_registry_cli.terminal import BAR_FROM_BYTES, Terminal, printable

ESCAPE = "\x1b"
FOUND = [
    error("name_characters", "No.", place=Place("SKILL.md", 2, 7), hint="Write notes."),
    warning("link_skipped", "Left out.", place=Place("link")),
    error("archive_invalid", "No zip."),
]


class Stream(io.TextIOWrapper):
    """A stream that may be a terminal."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def text(self) -> str:
        """All that was written."""
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")


def _terminal(*, terminal: bool, as_json: bool = False) -> tuple[Terminal, Stream, Stream]:
    out, err = Stream(terminal=terminal), Stream(terminal=terminal)
    return Terminal(out, err, as_json=as_json), out, err


def test_diagnostics_are_plain_lines_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal, out, err = _terminal(terminal=False)
    terminal.diagnostics(FOUND, "skills/notes/")
    assert out.text == ""
    assert err.text.splitlines() == [
        "skills/notes/SKILL.md:2:7: error name_characters: No.",
        "    hint: Write notes.",
        "skills/notes/link: warning link_skipped: Left out.",
        "error archive_invalid: No zip.",
    ]


def test_long_lines_are_not_broken() -> None:
    terminal, out, err = _terminal(terminal=True)
    terminal.notice("x" * 500)
    terminal.say("y" * 500)
    assert (err.text.count("\n"), out.text.count("\n")) == (1, 1)


def test_a_terminal_has_colours_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, _, err = _terminal(terminal=True)
    terminal.refusal(SkillInvalid("No.", FOUND))
    assert f"{ESCAPE}[1;31m" in err.text
    monkeypatch.setenv("NO_COLOR", "1")
    terminal, _, err = _terminal(terminal=True)
    terminal.refusal(SkillInvalid("No.", FOUND))
    assert f"{ESCAPE}[1;31m" not in err.text
    assert "3" not in [code for part in err.text.split(f"{ESCAPE}[")[1:] for code in part[:1]]


def test_a_table_is_for_terminals_and_lines_with_tabs_for_others() -> None:
    rows = [("notes", "1", "Two\nlines\tand a tab.")]
    terminal, out, _ = _terminal(terminal=False)
    terminal.table(("name", "version", "description"), rows)
    assert out.text == "notes\t1\tTwo lines and a tab.\n"
    terminal, out, _ = _terminal(terminal=True)
    terminal.table(("name", "version", "description"), rows)
    assert "version" in out.text


def test_a_strangers_text_cannot_move_the_cursor_or_be_markup() -> None:
    hostile = f"{ESCAPE}[2J[red]x[/red]\x9b1A\x07\udcff"
    assert printable(hostile) == "\\x1b[2J[red]x[/red]\\x9b1A\\x07\\xdcff"
    for tty in (True, False):
        terminal, out, err = _terminal(terminal=tty)
        terminal.table(("name",), [(hostile,)])
        terminal.say(hostile)
        terminal.notice(hostile)
        terminal.failure(hostile, hostile)
        terminal.diagnostics([error(hostile, hostile, place=Place(hostile), hint=hostile)], hostile)
        for text in (out.text, err.text):
            assert "[red]x[/red]" in text
            assert f"{ESCAPE}[2J" not in text
            assert not {"\x9b", "\x07"} & set(text)


def test_a_json_document_is_utf8_and_valid_whatever_it_holds() -> None:
    terminal, out, _ = _terminal(terminal=False, as_json=True)
    terminal.document({"name": "ünï"})
    assert out.text == '{\n  "name": "ünï"\n}\n'
    terminal, out, _ = _terminal(terminal=False, as_json=True)
    terminal.document({"name": "\udcff"})
    assert out.text == '{\n  "name": "\\udcff"\n}\n'


def test_bytes_are_written_as_they_are() -> None:
    terminal, out, _ = _terminal(terminal=True)
    terminal.say("before")
    terminal.data(b"\r\n\xc3\xbc")
    assert out.text == "before\n\r\nü"


def test_a_bar_shows_a_large_upload_on_a_terminal() -> None:
    total = BAR_FROM_BYTES + 1
    terminal, _, err = _terminal(terminal=True)
    with terminal.progress("notes", total) as progress:
        assert progress is not None
        progress(total // 2, total)
        progress(total, total)
    assert "notes" in err.text
    assert "1.0/1.0 MB" in err.text


@pytest.mark.parametrize(
    ("terminal", "total"), [(True, BAR_FROM_BYTES), (True, 0), (False, BAR_FROM_BYTES * 5)]
)
def test_there_is_no_bar_for_small_uploads_or_off_a_terminal(terminal: bool, total: int) -> None:
    printer, _, err = _terminal(terminal=terminal)
    with printer.progress("notes", total) as progress:
        assert progress is None
    assert err.text == ""
