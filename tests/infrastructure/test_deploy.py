"""The README's `sam deploy`, typed as it stands there; only the endpoint is not that of AWS.

Added to the line is what MiniStack and this machine need: the statement on conditional writes is
left out (a golden test holds it), and layer and functions are of the architecture that runs here.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError
from house import skill_zip
from infrastructure.access_table import FUNCTIONS, LOOK_ALIKE, OPERATOR, USER
from infrastructure.conftest import PROJECT, bash, requirements
from infrastructure.deployment import Deployment, wait_for
from infrastructure.real_requests import is_refused, sendable

from local_stack.emulator import SERVICES, Emulator, Endpoint
from local_stack.resources import make_keys
from local_stack.template import Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infrastructure.artifact import Artifact

LOCKS = PROJECT / "scripts" / "locks"
README = (PROJECT / "README.md").read_text(encoding="utf-8")
(COMMAND,) = re.findall(r"^sam deploy .*$", README, re.MULTILINE)
((ACCOUNT, ROLE),) = re.findall(r"Administrators=arn:aws:iam::(\d+):role/([\w-]+)$", COMMAND)
STACK = "skill-registry"
# What MiniStack reads a SAM template with: the translator of this project's `sam`.
TRANSLATOR = (
    "annotated-types",
    "attrs",
    "aws-sam-translator",
    "boto3",
    "jsonschema",
    "jsonschema-specifications",
    "pydantic",
    "pydantic-core",
    "referencing",
    "rpds-py",
    "s3transfer",
    "typing-extensions",
    "typing-inspection",
)
NAME = "greeting"


@pytest.fixture(scope="module")
def emulator_python(tmp_path_factory: pytest.TempPathFactory, python313: Path) -> Path:
    """Make MiniStack an environment of the functions' version: its interpreter runs them."""
    lock = tmp_path_factory.mktemp("locks") / "translator.txt"
    entries = requirements(LOCKS / "infrastructure.txt")
    lock.write_text("".join(entries[name] for name in TRANSLATOR))
    return Path(
        bash(
            f'. "{PROJECT}/scripts/_environments.sh" && PYTHON="{python313}" &&'
            f' ensure_environment deployment "{LOCKS}/emulator.txt" "{lock}" &&'
            " environment_python deployment"
        )
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, artifact: Artifact) -> Path:
    """A folder to type the command in, after ./scripts/build for this machine's architecture."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".aws-sam").mkdir()
    (folder / ".aws-sam" / "build").symlink_to(artifact.directory)
    for name in ("template.yaml", "samconfig.toml"):
        (folder / name).symlink_to(PROJECT / name)
    return folder


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory,
    emulator_python: Path,
    artifact: Artifact,
    checkout: Path,
    tools: Path,
) -> Iterator[Deployment]:
    """The stack that the command made, called by an administrator whom the command names."""
    services = f"{SERVICES},lambda,cloudformation"
    caller = f"arn:aws:sts::{ACCOUNT}:assumed-role/{ROLE}/session"
    data = tmp_path_factory.mktemp("aws")
    with Emulator(data, python=emulator_python, services=services, tls=True) as emulator:
        deployment = Deployment(emulator.endpoint, checkout, tools, STACK, caller)
        added = f"Architecture={artifact.architecture} EnforceConditionalWrites=false"
        # It shows what it is going to change and asks.
        deployment.run(f"{COMMAND} {added}", answers="y\n")
        yield deployment
        deployment.close()


@pytest.fixture
def bucket(deployment: Deployment) -> str:
    return deployment.outputs()["Bucket"]


def _publish_by_event(deployment: Deployment, data: bytes) -> dict[str, Any]:
    """Upload as a client that goes away at once; return what became of it."""
    announced = {"name": NAME, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    ticket = deployment.call("POST /uploads", body=json.dumps(announced))
    deployment.send(ticket, data)

    def outcome() -> Any:
        told = deployment.call("GET /uploads/{id}", path={"id": ticket["upload_id"]})
        return told["state"] != "received" and told

    published: dict[str, Any] = wait_for(outcome)
    return published


def _listed(deployment: Deployment) -> list[tuple[str, int]]:
    skills = deployment.call("GET /skills")["skills"]
    return [(skill["name"], skill["version"]) for skill in skills]


def _waiting(deployment: Deployment, queue: str) -> int:
    """Messages of a queue, those included that a function is working on."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    answer = deployment.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)
    return sum(int(answer["Attributes"][name]) for name in names)


def _objects(deployment: Deployment, bucket: str) -> list[str]:
    listing = deployment.client("s3").list_objects_v2(Bucket=bucket)
    return [entry["Key"] for entry in listing.get("Contents", ())]


def _texts(deployment: Deployment, bucket: str) -> Iterator[str]:
    """Yield the text of every file in every object version, also those inside of archives."""
    s3 = deployment.client("s3")
    for version in s3.list_object_versions(Bucket=bucket)["Versions"]:
        named = {"Key": version["Key"], "VersionId": version["VersionId"]}
        data = s3.get_object(Bucket=bucket, **named)["Body"].read()
        if not zipfile.is_zipfile(io.BytesIO(data)):
            yield data.decode(errors="replace")
            continue
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(name).decode() for name in archive.namelist())


def test_the_outputs_lead_to_what_was_made(deployment: Deployment) -> None:
    outputs = deployment.outputs()
    api = deployment.name_of("Api")
    assert outputs == {
        "ApiUrl": f"https://{api}.execute-api.us-east-1.amazonaws.com",
        "ApiArn": f"arn:aws:execute-api:us-east-1:000000000000:{api}/*",
        "Bucket": deployment.name_of("Bucket"),
        "Queue": deployment.name_of("EventsQueue"),
        "DeadLetterQueue": deployment.name_of("DeadLetterQueue"),
    }


def _publish_and_read(deployment: Deployment, version: int, text: str) -> None:
    outcome = _publish_by_event(deployment, skill_zip(NAME, text))
    assert (outcome["state"], outcome.get("version")) == ("published", version), outcome
    body = deployment.call("GET /skills/{name}", path={"name": NAME})
    assert (body["version"], body["content"]) == (version, f"# {NAME}\n\nDo it.\n")
    query = "path=references/notes.md"
    notes = deployment.call("GET /skills/{name}", path={"name": NAME}, query=query)
    assert (notes["version"], notes["content"]) == (version, text)
    # Of a publish by event, the outcome is known a little before its catalog is written.
    wait_for(lambda: _listed(deployment) == [(NAME, version)])


def test_uploads_are_published_by_their_events_as_v1_and_v2(deployment: Deployment) -> None:
    _publish_and_read(deployment, 1, "one")
    _publish_and_read(deployment, 2, "two")
    outputs = deployment.outputs()
    wait_for(lambda: _waiting(deployment, outputs["Queue"]) == 0)
    assert _waiting(deployment, outputs["DeadLetterQueue"]) == 0


def test_reconcile_finds_nothing_to_repair(deployment: Deployment) -> None:
    done = deployment.invoke("RefreshMetadataFunction", {"action": "reconcile"})
    assert {"uploads", "repaired", "failed", "pruned"} <= set(done)
    assert {name: what for name, what in done.items() if what} == {}


def test_a_purge_leaves_the_bytes_in_no_version_of_any_object(
    deployment: Deployment, bucket: str
) -> None:
    assert {"one", "two"} <= set(_texts(deployment, bucket))
    body = json.dumps({"version": 1, "reason": "leaked"})
    done = deployment.call("POST /skills/{name}/purge", path={"name": NAME}, body=body)
    assert done["removed"] > 0
    texts = set(_texts(deployment, bucket))
    assert "one" not in texts
    assert "two" in texts


def _callers(deployment: Deployment, bucket: str) -> dict[str | None, Any]:
    """An S3 client for everybody whom the golden table names, but other accounts and services."""
    endpoint = deployment.endpoint
    user = make_keys(endpoint, bucket, Function("somebody", "", PROJECT))
    return {
        **{role: deployment.s3_of(role) for role in FUNCTIONS},
        OPERATOR: deployment.s3_of_anybody("operator"),
        LOOK_ALIKE: deployment.s3_of_anybody(deployment.name_of("UploadSkillRole") + "-2"),
        USER: Endpoint(endpoint.url, user, certificate=endpoint.certificate).client("s3"),
    }


def test_who_may_do_what_to_the_bucket_is_as_the_golden_table_says(
    deployment: Deployment, bucket: str
) -> None:
    # What is written here is not for the functions to take up.
    deployment.client("s3").put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={}
    )
    callers = _callers(deployment, bucket)
    rows = list(sendable())
    wrong = [
        row for row, refused in rows if is_refused(callers[row.who], bucket, row) is not refused
    ]
    assert wrong == []
    assert len(rows) > 100
    callers[USER].close()


def test_without_tls_the_same_policy_refuses_everything(
    deployment: Deployment,
    bucket: str,
    emulator_python: Path,
    tmp_path: Path,
) -> None:
    policy = deployment.client("s3").get_bucket_policy(Bucket=bucket)["Policy"]
    with Emulator(tmp_path, python=emulator_python) as emulator:
        emulator.endpoint.make_bucket(bucket)
        root = emulator.endpoint.client("s3")
        keys = make_keys(emulator.endpoint, bucket, Function("somebody", "", PROJECT))
        s3 = Endpoint(emulator.endpoint.url, keys).client("s3")
        rows = [row for row, refused in sendable() if row.who == OPERATOR and not refused]
        assert not any(is_refused(s3, bucket, row) for row in rows)
        root.put_bucket_policy(Bucket=bucket, Policy=policy)
        assert all(is_refused(s3, bucket, row) for row in rows)
        s3.close()
        root.close()


# The last one, because it ends what the others use.
def test_deleting_the_stack_keeps_the_bucket(deployment: Deployment, bucket: str) -> None:
    before = _objects(deployment, bucket)
    deployment.run("sam delete --no-prompts")
    with pytest.raises(ClientError, match="does not exist"):
        deployment.outputs()
    assert deployment.client("lambda").list_functions()["Functions"] == []
    assert _objects(deployment, bucket) == before
