"""Two local servers over one store, under clients that mix all calls of the contract.

``./scripts/bench crowd`` runs the same with 32 clients for a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_store.traffic import CALLS, run

from local_stack.launcher import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = 12
SECONDS = 12


@pytest.fixture(scope="module")
def urls(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[tuple[str, str]]:
    options = ("--empty", "--environments", "2")
    first = ServerProcess(tmp_path_factory.mktemp("first"), *options).start()
    try:
        store = first.note()["store"]
        second = ServerProcess(tmp_path_factory.mktemp("second"), *options, "--store", store)
        try:
            yield first.url, second.start().url
        finally:
            second.stop()
    finally:
        first.stop()


def test_no_answer_is_a_5xx_and_no_version_goes_backwards_for_any_client(
    urls: tuple[str, str],
) -> None:
    seen = run(urls, CLIENTS, SECONDS)
    assert seen.violations == ()
    # Fewer answers than there are kinds of calls would prove nothing.
    assert seen.statuses.total() > 3 * len(CALLS)
