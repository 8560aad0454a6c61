"""Evaluates IAM policy statements as AWS documents it, as far as the template uses the language.

Whatever it does not know (an element, an operator, a condition key, a policy variable) ends the
test instead of counting as no match: a statement that is not understood must not look harmless.
Source: IAM user guide, "policy evaluation logic" and "condition operators".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Statement = dict[str, Any]

_ELEMENTS = {"Sid", "Effect", "Principal", "Action", "Resource", "Condition"}
_FLAGS = ("true", "false")
_ARN_PARTS = 6


class PolicyNotUnderstood(AssertionError):
    """A policy uses what this evaluator does not know; teach it, with a test."""


class Decision(Enum):
    """What statements say about a request; silence is a refusal, if nobody else allows."""

    DENIED = "denied"
    ALLOWED = "allowed"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """One request, as IAM sees it.

    Attributes:
        action: ``s3:PutObject`` for PUT, POST, COPY and every call of a multipart upload.
        resource: ARN of the bucket or the object.
        principal: ``aws:PrincipalArn``, which is the role's ARN for a session of a role. None for
            who has no such ARN: an AWS service, or nobody at all.
        tls: Whether the connection is encrypted.
        if_match: The header of this name; ``if_none_match`` alike.
        creates: Whether a PutObject makes an object. Opening a multipart upload and sending its
            parts do not, and take no conditional headers.
    """

    action: str
    resource: str
    principal: str | None
    tls: bool = True
    if_match: str | None = None
    if_none_match: str | None = None
    creates: bool = True

    def context(self) -> dict[str, str | None]:
        """Condition keys in lower case with their values, None where the request lacks the key."""
        writes = self.action == "s3:PutObject"
        return {
            "aws:securetransport": _flag(self.tls),
            "aws:principalarn": self.principal,
            "s3:if-match": self.if_match,
            "s3:if-none-match": self.if_none_match,
            "s3:objectcreationoperation": _flag(self.creates) if writes else None,
        }


def decide(statements: Iterable[Statement], request: AccessRequest) -> Decision:
    """Tell what the statements say; an explicit denial beats every permission."""
    effects = {item["Effect"] for item in statements if applies(item, request)}
    if "Deny" in effects:
        return Decision.DENIED
    return Decision.ALLOWED if "Allow" in effects else Decision.SILENT


def applies(statement: Statement, request: AccessRequest) -> bool:
    """Tell whether one statement is about a request.

    Raises:
        PolicyNotUnderstood: The statement has a part that is not known here, whether or not this
            request would meet it.
    """
    _check_elements(statement)
    context = request.context()
    # All of it is evaluated, so that what is not understood is found by any request.
    parts = [
        _any_matches(listed(statement["Action"]), request.action, ignore_case=True),
        _any_matches(listed(statement["Resource"]), request.resource),
        *(
            _holds(operator, key, listed(wanted), context)
            for operator, block in statement.get("Condition", {}).items()
            for key, wanted in block.items()
        ),
    ]
    return all(parts)


def listed(value: Any) -> list[Any]:
    """A policy's element as a list; IAM allows a single value in place of one."""
    return value if isinstance(value, list) else [value]


def _check_elements(statement: Statement) -> None:
    if unknown := set(statement) - _ELEMENTS:
        raise PolicyNotUnderstood(f"{sorted(unknown)} in {statement}")
    if statement["Effect"] not in ("Allow", "Deny"):
        raise PolicyNotUnderstood(f"the effect {statement['Effect']}")
    if statement.get("Principal", "*") != "*":
        raise PolicyNotUnderstood(f"the principal {statement['Principal']}")


def _holds(operator: str, key: str, wanted: list[str], context: Mapping[str, str | None]) -> bool:
    test = _OPERATORS.get(operator)
    if test is None:
        raise PolicyNotUnderstood(f"the operator {operator}")
    if key.lower() not in context:
        raise PolicyNotUnderstood(f"the condition key {key}")
    return test(context[key.lower()], wanted)


def _null(actual: str | None, wanted: list[str]) -> bool:
    (absent,) = map(_known_flag, wanted)
    return (actual is None) == (absent == "true")


def _bool(actual: str | None, wanted: list[str]) -> bool:
    return actual in [_known_flag(value) for value in wanted]


def _arn_not_like(actual: str | None, wanted: list[str]) -> bool:
    """Negated operators hold where the key is absent, and where no value matches."""
    return not any([_arn_matches(pattern, actual) for pattern in wanted])


_OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "Null": _null,
    "Bool": _bool,
    "ArnNotLike": _arn_not_like,
}


def _arn_matches(pattern: str, actual: str | None) -> bool:
    """Compare part by part: a wildcard never reaches over a colon into the next part."""
    parts = pattern.split(":", _ARN_PARTS - 1)
    if len(parts) != _ARN_PARTS or parts[0] != "arn":
        raise PolicyNotUnderstood(f"the ARN pattern {pattern}")
    if actual is None:
        return False
    pairs = zip(parts, actual.split(":", _ARN_PARTS - 1), strict=True)
    return all(_matches(wanted, part) for wanted, part in pairs)


def _any_matches(patterns: list[str], text: str, *, ignore_case: bool = False) -> bool:
    return any([_matches(pattern, text, ignore_case=ignore_case) for pattern in patterns])


def _matches(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    if "${" in pattern:
        raise PolicyNotUnderstood(f"the variable in {pattern}")
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return re.fullmatch(expression, text, flags) is not None


def _known_flag(value: str) -> str:
    if value not in _FLAGS:
        raise PolicyNotUnderstood(f"{value!r}, which is neither true nor false")
    return value


def _flag(value: bool) -> str:
    return _FLAGS[0] if value else _FLAGS[1]
