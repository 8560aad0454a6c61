"""Runs ``./scripts/server`` as a child process, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

from local_stack.errors import StackError
from local_stack.virtualenvs import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

READY = "ready: "
STOP_SECONDS = 30.0


class ServerProcess:
    """One run of the server over a data folder.

    Args:
        data: Its ``--data``.
        arguments: Further options; without ``--port`` any free port is taken.
    """

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data = data
        self.url = ""
        self.lines: list[str] = []
        port = () if "--port" in arguments else ("--port", "0")
        self._command = [str(PROJECT / "scripts" / "server"), "--data", str(data), *port]
        self._command += arguments
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self, seconds: float = 120.0) -> ServerProcess:
        """Start the server and return when it is ready.

        Raises:
            StackError: It ended, or was not ready in time; the message is what it printed.
        """
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        decided = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(decided,), daemon=True)
        self._reader.start()
        decided.wait(seconds)
        if not self.url:
            self.stop()
            raise StackError("\n".join(self.lines))
        return self

    def _read(self, decided: threading.Event) -> None:
        assert self._process is not None and self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))
                if line.startswith(READY):
                    self.url = self.lines[-1].removeprefix(READY)
                    decided.set()
        decided.set()

    @property
    def process_id(self) -> int:
        """The server's own process id."""
        assert self._process is not None
        return self._process.pid

    def note(self) -> dict[str, str]:
        """Return what the server wrote down: ``url``, ``store``, ``bucket``, ``queue``."""
        note: dict[str, str] = json.loads((self.data / "server.json").read_text())
        return note

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit status."""
        assert self._process is not None and self._reader is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._reader.join(STOP_SECONDS)
        return status
