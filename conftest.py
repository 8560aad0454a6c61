"""Options of the test suite. Here and not in ``tests/``, so that every kind of test has them."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--corpus DIR``, a folder of real skills for the tests that take more than samples, and
    ``--seaweedfs``, another S3 for the tests of the store port.
    """
    parser.addoption(
        "--corpus",
        metavar="DIR",
        default=None,
        help="folder of skills that is tested besides the small ones in tests/cases",
    )
    parser.addoption(
        "--seaweedfs",
        action="store_true",
        help="run the contract of the store against SeaweedFS as well",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a corpus that is not there: silently testing less would look like success."""
    given = config.getoption("--corpus")
    if given is not None and not Path(given).is_dir():
        raise pytest.UsageError(f"--corpus: {given} is not a folder.")


@pytest.fixture(scope="session")
def corpus(pytestconfig: pytest.Config) -> Path | None:
    """Return the folder that ``--corpus`` names, None where the small samples have to do."""
    given = pytestconfig.getoption("--corpus")
    return Path(given).resolve() if given is not None else None
