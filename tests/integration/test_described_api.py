"""The running registry against its OpenAPI document: thousands of calls, made up from it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest
from house import skill_zip

from local_stack.launcher import ServerProcess
from local_stack.virtualenvs import ensure_environments, interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
DOCUMENT = PROJECT / "layers" / "core" / "skill_registry" / "web" / "openapi.json"

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
)
CLAIMS = json.dumps({"sub": "fuzz", "roles": ["maintainer"], "teams": ["fuzz"]})

# Who calls, how the calls are made up (each bound of each schema once, or bodies and queries at
# random, always the same ones), and what is rather read than JSON. The one who may do everything
# comes last, since it deletes.
RUNS: dict[str, tuple[str, ...]] = {
    "a maintainer": (
        *("--phases", "examples,fuzzing", "--max-examples", "10"),
        *("--header", f"X-Local-Claims: {CLAIMS}"),
        *("--header", "Accept: text/markdown, text/plain, application/zip, application/json;q=0.5"),
    ),
    "an administrator": ("--phases", "examples,coverage,stateful", "--max-examples", "5"),
}
FOR_ADMINISTRATORS = {"readAccess", "changeAccess", "maintain"}


@pytest.fixture(scope="module")
def openapi_environment() -> None:
    ensure_environments("openapi")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    running = ServerProcess(tmp_path_factory.mktemp("described")).start()
    yield running
    running.stop()


def send_an_upload(url: str, headers: dict[str, str]) -> str:
    """Announce an upload and send it; return its id. It may be published once the calls ask."""
    data = skill_zip("sent")
    announced = {"name": "sent", "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    with httpx.Client(trust_env=False, timeout=60) as client:
        ticket = client.post(f"{url}/uploads", json=announced, headers=headers).json()
        sent = client.put(ticket["url"], content=data, headers=ticket["headers"])
        assert sent.status_code == 200, sent.text
    return str(ticket["upload_id"])


def run(module: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a tool of the environment. ``folder`` takes what it leaves."""
    return subprocess.run(
        [str(interpreter("openapi")), "-P", "-m", module, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_document_is_openapi_3_1(openapi_environment: None, tmp_path: Path) -> None:
    done = run("openapi_spec_validator", "--schema", "3.1", str(DOCUMENT), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_server_serves_the_document_that_is_committed(server: ServerProcess) -> None:
    answer = httpx.get(f"{server.url}/openapi.json", trust_env=False)
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == DOCUMENT.read_bytes()


@pytest.mark.parametrize("caller", RUNS)
def test_every_answer_is_one_that_the_document_describes(
    server: ServerProcess, openapi_environment: None, tmp_path: Path, caller: str
) -> None:
    headers = {"X-Local-Claims": CLAIMS} if caller == "a maintainer" else {}
    document: dict[str, Any] = json.loads(DOCUMENT.read_bytes())
    upload = send_an_upload(server.url, headers)
    document["components"]["parameters"]["id"]["examples"] = {"sent": {"value": upload}}
    described = tmp_path / "openapi.json"
    described.write_text(json.dumps(document), encoding="utf-8")
    report = tmp_path / "calls.har"
    done = run(
        "schemathesis.cli",
        *("--no-color", "run", str(described), "--url", server.url, *RUNS[caller]),
        *("--checks", ",".join(CHECKS), "--continue-on-failure", "--max-redirects", "0"),
        *("--generation-deterministic", "--generation-with-security-parameters", "false"),
        *("--report", "har", "--report-har-path", str(report)),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    succeeded = operations_that_succeeded(document, json.loads(report.read_bytes()))
    if caller == "an administrator":
        assert succeeded == operations(document).keys()
    else:
        assert succeeded > {"listSkills", "viewSkill", "bundleSkill", "completeUpload"}
        assert not succeeded & FOR_ADMINISTRATORS


def operations(document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the method and the path of every operation, by its id."""
    return {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def operations_that_succeeded(document: dict[str, Any], report: dict[str, Any]) -> set[str]:
    """Return the ids of the operations that did not only refuse."""
    calls = {
        (entry["request"]["method"], urlsplit(entry["request"]["url"]).path)
        for entry in report["log"]["entries"]
        if 200 <= entry["response"]["status"] < 400
    }
    return {
        name
        for name, (method, path) in operations(document).items()
        if any(method == m and re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), p) for m, p in calls)
    }
