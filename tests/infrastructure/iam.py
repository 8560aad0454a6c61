"""The template's policies with real names in them, and a store that refuses what they refuse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infrastructure.policy_evaluator import AccessRequest, applies, listed

if TYPE_CHECKING:
    from infrastructure.policy_evaluator import Statement
    from infrastructure.stack import Stack

    from skill_registry.store.gate import Request

ACTIONS = {
    ("GET", False): "s3:GetObject",
    ("HEAD", False): "s3:GetObject",
    ("PUT", False): "s3:PutObject",
    ("DELETE", False): "s3:DeleteObject",
    ("DELETE", True): "s3:DeleteObjectVersion",
    ("LIST", False): "s3:ListBucket",
    ("LIST", True): "s3:ListBucketVersions",
}
BUCKET = "${Bucket.Arn}"
ACCOUNT = "111122223333"
_REFERENCE = re.compile(r"\$\{([\w:]+)(\.Arn)?\}")
_PSEUDO = {"AWS::Partition": "aws", "AWS::AccountId": ACCOUNT}


def grants(role: dict[str, Any]) -> set[tuple[str, str]]:
    """Every action of a role with every resource that it is allowed on."""
    return {
        (action, resource)
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def named(value: Any) -> Any:
    """Put a name of the form that AWS makes in place of every reference of a policy."""
    if isinstance(value, list):
        return [named(item) for item in value]
    if isinstance(value, dict):
        return {key: named(item) for key, item in value.items()}
    return _REFERENCE.sub(_name, value) if isinstance(value, str) else value


def _name(reference: re.Match[str]) -> str:
    logical_id, wants_arn = reference.groups()
    if logical_id in _PSEUDO:
        return _PSEUDO[logical_id]
    name = f"registry-{logical_id}-1a2b3c"
    if not wants_arn:
        return name
    if logical_id.endswith("Role"):
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"
    return f"arn:aws:s3:::{name.lower()}"


def bucket_statements(stack: Stack) -> list[Statement]:
    """The statements of the bucket policy."""
    statements: list[Statement] = named(
        stack.properties("BucketPolicy")["PolicyDocument"]["Statement"]
    )
    return statements


def role_statements(stack: Stack, role: str) -> list[Statement]:
    """The statements of all policies of a role."""
    return [
        named(statement)
        for policy in stack.properties(role)["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]


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
        self.denials = bucket_statements(self.stack)

    def refuses(self, request: Request) -> bool:
        """Tell whether S3 would answer 403, and remember it."""
        action = ACTIONS[request.op, request.versioned]
        resource = BUCKET if request.op == "LIST" else f"{BUCKET}/{request.key}"
        return self.judge(action, resource, conditional=request.condition is not None)

    def judge(self, action: str, resource: str, *, conditional: bool) -> bool:
        """Tell whether an action is refused, by the role or by the bucket."""
        request = AccessRequest(
            action,
            named(resource),
            principal=named("${" + self.role + ".Arn}"),
            if_match='"an-etag"' if conditional else None,
        )
        allowing = {grant for grant in self.grants if _allows(grant, request)}
        self.used |= allowing
        reasons = [] if allowing else [f"{self.role} grants no {action} on {resource}"]
        reasons += [
            f"{statement['Sid']} denies {action} on {resource} to {self.role}"
            for statement in self.denials
            if applies(statement, request)
        ]
        self.refused += reasons
        return bool(reasons)


def _allows(grant: tuple[str, str], request: AccessRequest) -> bool:
    action, resource = grant
    return applies({"Effect": "Allow", "Action": action, "Resource": named(resource)}, request)
