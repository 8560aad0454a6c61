"""When a request is sent again. Pure: it looks at an outcome and names a pause in seconds.

Every call of the client may be repeated: reads change nothing, and each publish carries an upload
id or an idempotency key, so the registry applies it once however often it comes.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

# 202: the registry goes on publishing and asks to be called again. 500: what API Gateway says where
# a function ended in the middle of a call.
REGISTRY_STATUSES = frozenset({202, 429, 500, 502, 503, 504})
# 409: another write to the key is in flight. Source: AWS S3 user guide, "conditional requests".
STORE_STATUSES = frozenset({409, 429, 500, 502, 503, 504})
_PASSING = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How patient a client is. Times are seconds.

    Attributes:
        attempts: Requests in all, the first one included.
        longest: The longest single pause. A server that asks for more is not asked again.
        budget: No attempt starts later than this after the first one did.
        base: The first pause where the server names none; each further one doubles.
    """

    attempts: int = 4
    longest: float = 20.0
    budget: float = 90.0
    base: float = 0.2

    def pause(
        self,
        outcome: httpx.Response | httpx.HTTPError,
        *,
        attempt: int,
        elapsed: float,
        statuses: frozenset[int] = REGISTRY_STATUSES,
    ) -> float | None:
        """Return the seconds to wait before the next attempt, None when there is to be none.

        Args:
            outcome: What the last attempt brought.
            attempt: Its number, from 1.
            elapsed: Seconds since the first attempt started.
            statuses: The HTTP statuses that pass with time.
        """
        asked: float | None = None
        if isinstance(outcome, httpx.Response):
            if outcome.status_code not in statuses:
                return None
            asked = read_retry_after(outcome.headers)
        elif not isinstance(outcome, _PASSING):
            return None
        wait = self._backoff(attempt) if asked is None else asked
        if attempt >= self.attempts or wait > self.longest or elapsed + wait > self.budget:
            return None
        return wait

    def _backoff(self, attempt: int) -> float:
        # Jitter keeps the clients that one outage stopped from coming back in step.
        full: float = self.base * 2 ** (attempt - 1)
        return min(full, self.longest) * random.uniform(0.5, 1.0)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Read ``Retry-After``, seconds or an HTTP date, as seconds from now; None where unreadable."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
