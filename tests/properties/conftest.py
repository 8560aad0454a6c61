"""What the tests of this kind share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def silent_log() -> Iterator[None]:
    """What thousands of injected faults, and broken code, make the registry log is no news."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
