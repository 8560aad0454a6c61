"""Reads ``template.yaml``: functions with routes, queue, schedule and rights; the bucket's events.

Only what can be known without an AWS account is resolved: parameters by their defaults, and the
names of the bucket and its queue. What stays unknown is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_stack.errors import StackError
from local_stack.intrinsics import Resolver, read_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

REGION = "us-east-1"
ACCOUNT = "000000000000"
DEFAULT_ROUTE = "$default"
ANY_METHOD = "ANY"


@dataclass(frozen=True, slots=True)
class Function:
    """One Lambda function.

    Attributes:
        name: The folder that its handler lies in; names its log file as well.
        code: Folder that ``CodeUri`` names.
        timeout: Seconds.
        memory: MiB.
        statements: The statements of its role's policies, as far as they are about known resources.
    """

    name: str
    handler: str
    code: Path
    timeout: float = 3.0
    memory: int = 128
    environment: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """One route of the HTTP API: ``GET /skills/{name}``, or ``$default`` for all that is left."""

    method: str
    path: str
    function: str

    @property
    def key(self) -> str:
        """The route key, as events carry it."""
        return self.path if self.path == DEFAULT_ROUTE else f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class QueueSource:
    """A function that takes batches from a queue.

    ``visibility`` (seconds) and ``receives`` (deliveries before the dead-letter queue) are the
    queue's own.
    """

    function: str
    batch_size: int = 10
    visibility: int = 60
    receives: int = 5


@dataclass(frozen=True, slots=True)
class Schedule:
    """A function that runs on a schedule; ``input`` is the event's JSON, None for the default."""

    function: str
    input: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectRule:
    """Which changes of which keys the bucket tells its queue about."""

    event: str
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """What the local stack needs of a SAM template."""

    functions: tuple[Function, ...]
    routes: tuple[Route, ...]
    queue: QueueSource | None
    schedules: tuple[Schedule, ...]
    rules: tuple[ObjectRule, ...]


def events_queue(bucket: str) -> str:
    """Return the name of the queue that a bucket's events go to here."""
    return f"{bucket}-events"


def read_template(path: Path, bucket: str, parameters: Mapping[str, str] | None = None) -> Template:
    """Read a SAM template; ``CodeUri`` is relative to its folder.

    Args:
        parameters: Values in place of the parameters' defaults.

    Raises:
        StackError: The file is missing, or is not a template; it has no such parameter; the code
            of a function is not where it says.
    """
    return _Reader(read_document(path), path.parent, bucket, parameters or {}).read()


class _Reader:
    def __init__(
        self,
        document: Mapping[str, Any],
        folder: Path,
        bucket: str,
        parameters: Mapping[str, str],
    ) -> None:
        self.resources: Mapping[str, Any] = document["Resources"]
        self.defaults: Mapping[str, Any] = (document.get("Globals") or {}).get("Function") or {}
        self.folder = folder
        known = {"AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws"}
        declared = document.get("Parameters") or {}
        if unknown := sorted(set(parameters) - set(declared)):
            raise StackError(f"The template has no parameter {unknown[0]}.")
        for name, parameter in declared.items():
            if "Default" in parameter:
                known[name] = str(parameter["Default"])
        known |= parameters
        for logical_id, _ in self._of_type("AWS::S3::Bucket"):
            known |= {logical_id: bucket, f"{logical_id}.Arn": f"arn:aws:s3:::{bucket}"}
        self.resolve = Resolver(known)

    def read(self) -> Template:
        functions, routes, schedules = [], [], []
        queue: QueueSource | None = None
        for logical_id, properties in self._of_type("AWS::Serverless::Function"):
            function = self._function(logical_id, properties)
            functions.append(function)
            for event in (properties.get("Events") or {}).values():
                settings = event.get("Properties") or {}
                match event.get("Type"):
                    case "HttpApi":
                        routes.append(self._route(function.name, settings))
                    case "SQS":
                        queue = self._queue(function.name, settings)
                    case "Schedule" | "ScheduleV2":
                        text = self.resolve.text(settings.get("Input"))
                        schedules.append(Schedule(function.name, text))
        rules = tuple(self._rules())
        return Template(tuple(functions), tuple(routes), queue, tuple(schedules), rules)

    def _of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for logical_id, resource in self.resources.items():
            if resource.get("Type") == kind:
                yield logical_id, resource.get("Properties") or {}

    def _function(self, logical_id: str, own: Mapping[str, Any]) -> Function:
        properties = {**self.defaults, **own}
        handler = self.resolve.text(properties.get("Handler"))
        if handler is None:
            raise StackError(f"The function {logical_id} of the template names no handler.")
        variables: dict[str, str] = {}
        for source in (self.defaults, own):
            for name, value in ((source.get("Environment") or {}).get("Variables") or {}).items():
                text = self.resolve.text(value)
                if text is not None:
                    variables[name] = text
        code = (self.folder / (self.resolve.text(properties.get("CodeUri")) or ".")).resolve()
        if not code.is_dir():
            raise StackError(f"The function {logical_id} has its code in {code}, which is missing.")
        return Function(
            name=handler.split(".", 1)[0],
            handler=handler,
            code=code,
            timeout=float(self.resolve.number(properties.get("Timeout"), 3)),
            memory=self.resolve.number(properties.get("MemorySize"), 128),
            environment=variables,
            statements=tuple(self._statements(properties.get("Role"))),
        )

    def _statements(self, role: Any) -> Iterator[Mapping[str, Any]]:
        for policy in self._attribute_of(role).get("Policies") or ():
            for statement in policy["PolicyDocument"]["Statement"]:
                resources = self.resolve.texts(statement.get("Resource"))
                if resources:
                    yield {
                        "Effect": statement["Effect"],
                        "Action": self.resolve.texts(statement.get("Action")),
                        "Resource": resources,
                    }

    def _route(self, function: str, settings: Mapping[str, Any]) -> Route:
        path = self.resolve.text(settings.get("Path")) or DEFAULT_ROUTE
        method = (self.resolve.text(settings.get("Method")) or ANY_METHOD).upper()
        return Route(ANY_METHOD if method == "*" else method, path, function)

    def _queue(self, function: str, settings: Mapping[str, Any]) -> QueueSource:
        queue = self._attribute_of(settings.get("Queue"))
        redrive = queue.get("RedrivePolicy") or {}
        return QueueSource(
            function,
            batch_size=self.resolve.number(settings.get("BatchSize"), 10),
            visibility=self.resolve.number(queue.get("VisibilityTimeout"), 60),
            receives=self.resolve.number(redrive.get("maxReceiveCount"), 5),
        )

    def _attribute_of(self, value: Any) -> Mapping[str, Any]:
        """Return the properties of the resource that a ``!GetAtt`` is about, else nothing."""
        match value:
            case {"Fn::GetAtt": [str(logical_id), _]}:
                resource = self.resources.get(logical_id) or {}
                properties: Mapping[str, Any] = resource.get("Properties") or {}
                return properties
        return {}

    def _rules(self) -> Iterator[ObjectRule]:
        for _, properties in self._of_type("AWS::S3::Bucket"):
            notifications = properties.get("NotificationConfiguration") or {}
            for entry in notifications.get("QueueConfigurations") or ():
                rules = ((entry.get("Filter") or {}).get("S3Key") or {}).get("Rules") or ()
                values = {
                    rule["Name"].lower(): self.resolve.text(rule["Value"]) or "" for rule in rules
                }
                yield ObjectRule(entry["Event"], values.get("prefix", ""), values.get("suffix", ""))
