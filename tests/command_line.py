"""Runs of skillctl in the test's own process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from skill_registry_cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[bytes]


class Run:
    """One run of the command line in this process."""

    def __init__(self, capture: Capture, *arguments: str | Path) -> None:
        capture.readouterr()
        self.code = main([str(argument) for argument in arguments])
        captured = capture.readouterr()
        self.data = captured.out
        self.out = captured.out.decode("utf-8", "replace")
        self.err = captured.err.decode()

    def document(self) -> Any:
        """Return the one JSON document on stdout."""
        return json.loads(self.data)
