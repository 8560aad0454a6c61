"""Logs and metrics: one JSON object a line, on stdout, from every ring.

The inner rings use plain ``logging`` and inherit the form. A fact of use is one line that is its
own metrics too, by CloudWatch's embedded metric format, which takes a line that says what of it is
metrics. No line holds what somebody sent: neither bodies nor URLs nor tokens, and of an exception
its place and type, since its message may quote them.
"""

from __future__ import annotations

import copy
import json
import logging
import traceback
from dataclasses import fields
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from skill_registry.catalog.facts import SkillListed, SkillLoaded, SkillPublished, SkillRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skill_registry.catalog.facts import Fact

# At DEBUG they print requests with their signatures.
_TALKATIVE = ("boto3", "botocore", "s3transfer", "urllib3")
_FACTS = "skill_registry.facts"
_MESSAGES = {
    SkillListed: "skill_listed",
    SkillLoaded: "skill_loaded",
    SkillRefused: "skill_refused",
    SkillPublished: "skill_published",
}
_LONGEST_TEXT = 1024
_LONGEST_CHAIN = 10


class _Formatter(LambdaPowertoolsFormatter):
    """Powertools' form, in ASCII, so that no text can look like another line."""

    def __init__(self) -> None:
        serializer = partial(json.dumps, default=str, separators=(",", ":"))
        super().__init__(json_serializer=serializer, serialize_stacktrace=False, utc=True)

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            record = copy.copy(record)
            record.exc_info = None
            vars(record).update(exception=outline(error), exception_name=type(error).__name__)
        return super().format(record)


def outline(error: BaseException) -> str:
    """Return the traceback of an error and of what caused it, without any of their messages."""
    lines: list[str] = []
    link: BaseException | None = error
    while link is not None and len(lines) < _LONGEST_CHAIN:
        kind = type(link)
        frames = "".join(traceback.format_tb(link.__traceback__))
        lines.append(f"{kind.__module__}.{kind.__qualname__}\n{frames}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "because of ".join(lines)


@lru_cache(maxsize=1)
def logger() -> Logger:
    """Return the logger of this environment. Level and service come from Powertools' variables."""
    made = Logger(logger_formatter=_Formatter())
    # The parent of all loggers of the package; without a name it would not be found.
    package = logging.getLogger("skill_registry")
    utils.copy_config_to_registered_loggers(made, include={package.name})
    # Facts are data: a level that keeps remarks out keeps no metric out.
    logging.getLogger(_FACTS).setLevel(logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    return made


def begin(correlation_id: str, request_id: str) -> None:
    """Put the ids of an invocation on every line that follows, in place of the last one's."""
    logger().append_keys(correlation_id=correlation_id, request_id=request_id)


def recorder() -> Callable[[Fact], None]:
    """Return what facts are told to. Threads may call it at once."""
    logger()
    return record


def record(fact: Fact) -> None:
    """Write a fact down: a line with its members, which is its metrics where there is a namespace.

    A correlation id of its own goes before that of the invocation.
    """
    members = {each.name: _clipped(getattr(fact, each.name)) for each in fields(fact)}
    members["correlation_id"] = members.pop("correlation", None)
    given = {name: value for name, value in members.items() if value not in (None, {})}
    message = _MESSAGES[type(fact)]
    logging.getLogger(_FACTS).info(message, extra={**given, **_metrics(fact)})


def _clipped(value: Any) -> Any:
    """Bound a text that somebody else chose the length of."""
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


def _metrics(fact: Fact) -> Mapping[str, Any]:
    """Return the members that make a line metrics; none where no namespace is set.

    Made anew for each fact, so that nothing of one is in another. Dimensions have few values, as
    each combination of them is a metric that is paid for; names and agents are members of the line.
    """
    metrics = EphemeralMetrics()
    if not metrics.namespace:
        return {}
    match fact:
        case SkillListed():
            metrics.add_metric("SkillListed", MetricUnit.Count, 1)
        case SkillLoaded(scope=scope, body_bytes=size):
            metrics.add_dimension("scope_kind", _kind(scope))
            metrics.add_metric("SkillLoaded", MetricUnit.Count, 1)
            metrics.add_metric("SkillLoadedBytes", MetricUnit.Bytes, size)
        case SkillRefused(reason=reason):
            metrics.add_dimension("reason", reason)
            metrics.add_metric("SkillRefused", MetricUnit.Count, 1)
        case SkillPublished(scope=scope, kind=kind):
            metrics.add_dimension("scope_kind", _kind(scope))
            metrics.add_dimension("kind", kind)
            metrics.add_metric("SkillPublished", MetricUnit.Count, 1)
    return metrics.serialize_metric_set()


def _kind(scope: str) -> str:
    """Return ``system``, ``team`` or ``user``."""
    return scope.partition("-")[0]
