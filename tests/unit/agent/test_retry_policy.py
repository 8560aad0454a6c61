"""When a request is sent again, decided without sending anything."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from skill_registry.agent.retries import STORE_STATUSES, RetryPolicy, read_retry_after

POLICY = RetryPolicy(attempts=4, longest=20.0, budget=60.0, base=0.2)


def _response(status: int, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers={k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize("status", [200, 201, 304, 400, 404, 409, 412, 422])
def test_an_answer_that_time_does_not_change_is_final(status: int) -> None:
    assert POLICY.pause(_response(status, retry_after="1"), attempt=1, elapsed=0) is None


@pytest.mark.parametrize("status", [202, 429, 500, 502, 503, 504])
def test_an_answer_that_passes_is_asked_again_after_the_pause_it_names(status: int) -> None:
    assert POLICY.pause(_response(status, retry_after="5"), attempt=1, elapsed=0) == 5.0


def test_the_store_is_asked_again_where_another_write_was_in_flight() -> None:
    conflict = _response(409)
    assert POLICY.pause(conflict, attempt=1, elapsed=0) is None
    assert POLICY.pause(conflict, attempt=1, elapsed=0, statuses=STORE_STATUSES) is not None


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadTimeout("slow"),
        httpx.ReadError("cut"),
        httpx.WriteError("cut"),
        httpx.RemoteProtocolError("cut"),
    ],
)
def test_a_connection_that_fails_is_tried_again(error: httpx.HTTPError) -> None:
    assert POLICY.pause(error, attempt=1, elapsed=0) is not None


@pytest.mark.parametrize(
    "error", [httpx.UnsupportedProtocol("x"), httpx.DecodingError("x"), httpx.ProxyError("x")]
)
def test_what_fails_the_same_way_each_time_is_not_tried_again(error: httpx.HTTPError) -> None:
    assert POLICY.pause(error, attempt=1, elapsed=0) is None


def test_pauses_double_with_jitter_and_end_with_the_attempts() -> None:
    error = httpx.ConnectError("refused")
    for attempt, full in ((1, 0.2), (2, 0.4), (3, 0.8)):
        pause = POLICY.pause(error, attempt=attempt, elapsed=0)
        assert pause is not None
        assert full / 2 <= pause <= full
    assert POLICY.pause(error, attempt=4, elapsed=0) is None


def test_no_attempt_starts_after_the_budget() -> None:
    busy = _response(503, retry_after="10")
    assert POLICY.pause(busy, attempt=1, elapsed=50) == 10.0
    assert POLICY.pause(busy, attempt=1, elapsed=51) is None


def test_a_longer_pause_than_the_longest_is_not_made() -> None:
    assert POLICY.pause(_response(503, retry_after="20"), attempt=1, elapsed=0) == 20.0
    assert POLICY.pause(_response(503, retry_after="21"), attempt=1, elapsed=0) is None


def test_retry_after_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    seconds = read_retry_after({"retry-after": soon})
    assert seconds is not None
    assert 25 <= seconds <= 30
    past = format_datetime(datetime.fromtimestamp(time.time() - 60, UTC), usegmt=True)
    assert read_retry_after({"retry-after": past}) == 0.0


@pytest.mark.parametrize("value", ["", "soon", "-1", "1.5", "٣", "1e9"])
def test_an_unreadable_retry_after_counts_as_none(value: str) -> None:
    assert read_retry_after({"retry-after": value}) is None
