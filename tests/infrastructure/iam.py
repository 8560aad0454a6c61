"""A store that refuses what the template's roles and bucket policy refuse.

It knows what the template uses of IAM: Allow statements of a role, Deny statements of the bucket,
``*`` in resources, and the conditions on conditional writes and on the writing role.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infrastructure.stack import Stack

    from skill_registry.store.gate import Request

ACTIONS = {
    "GET": "s3:GetObject",
    "HEAD": "s3:GetObject",
    "PUT": "s3:PutObject",
    "DELETE": "s3:DeleteObject",
    "LIST": "s3:ListBucket",
}
BUCKET = "${Bucket.Arn}"


def listed(value: Any) -> list[Any]:
    """A policy's element as a list; IAM allows a single value in place of one."""
    return value if isinstance(value, list) else [value]


def grants(role: dict[str, Any]) -> set[tuple[str, str]]:
    """Every action of a role with every resource that it is allowed on."""
    return {
        (action, resource)
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


@dataclass
class Guard:
    """Judges requests of one role; hand ``refuses`` to a gate.

    Attributes:
        used: The grants that some request needed.
        refused: What was refused and why; code that goes on after a refusal cannot hide it.
    """

    stack: Stack
    role: str
    used: set[tuple[str, str]] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.grants = grants(self.stack.properties(self.role))
        self.denials = self.stack.properties("BucketPolicy")["PolicyDocument"]["Statement"]

    def refuses(self, request: Request) -> bool:
        """Tell whether S3 would answer 403, and remember it."""
        action = ACTIONS[request.op]
        resource = BUCKET if request.op == "LIST" else f"{BUCKET}/{request.key}"
        return self.judge(action, resource, conditional=request.condition is not None)

    def judge(self, action: str, resource: str, *, conditional: bool) -> bool:
        """Tell whether an action is refused, by the role or by the bucket."""
        allowing = {
            (granted, pattern)
            for granted, pattern in self.grants
            if granted == action and fnmatchcase(resource, pattern)
        }
        self.used |= allowing
        reasons = [] if allowing else [f"{self.role} grants no {action} on {resource}"]
        reasons += [
            f"{item['Sid']} denies {action} on {resource} to {self.role}"
            for item in self.denials
            if self.denied(item, action, resource, conditional=conditional)
        ]
        self.refused += reasons
        return bool(reasons)

    def denied(
        self, statement: dict[str, Any], action: str, resource: str, *, conditional: bool
    ) -> bool:
        """Tell whether one Deny statement of the bucket applies."""
        actions, resources = listed(statement["Action"]), listed(statement["Resource"])
        if not any(fnmatchcase(action, pattern) for pattern in actions):
            return False
        if not any(fnmatchcase(resource, pattern) for pattern in resources):
            return False
        condition = statement.get("Condition", {})
        if condition == {"Bool": {"aws:SecureTransport": "false"}}:
            return False
        writers = condition.get("ArnNotLike", {}).get("aws:PrincipalArn")
        if writers is not None:
            return "${" + self.role + ".Arn}" not in writers
        return not ("Null" in condition and conditional)
