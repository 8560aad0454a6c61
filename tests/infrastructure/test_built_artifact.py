"""The artifact that is deployed: whole, of one architecture, with bytecode, and nothing else."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from house import http_event
from infrastructure.artifact import bytecode_kind, machine_of
from infrastructure.conftest import PROJECT
from infrastructure.test_template_functions import HANDLERS

if TYPE_CHECKING:
    from pathlib import Path

    from infrastructure.artifact import Artifact

MEGABYTE = 1_000_000
ROLE = "arn:aws:iam::000000000000:role/admin"

# Loads a handler as the runtime does, calls it when there is an event, and tells what it loaded.
RUN_HANDLER = """
import importlib, json, sys
module, name = sys.argv[1].rsplit(".", 1)
handler = getattr(importlib.import_module(module), name)
answer = handler(json.loads(sys.argv[2]), None) if len(sys.argv) > 2 else None
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
json.dump({"answer": answer, "files": sorted(filter(None, files))}, open(sys.argv[0] + ".out", "w"))
"""


@pytest.fixture(params=["deployed_artifact", "artifact"])
def either(request: pytest.FixtureRequest) -> Artifact:
    """Return the artifact of the default architecture, then the one of this machine."""
    built: Artifact = request.getfixturevalue(request.param)
    return built


def _run(
    artifact: Artifact,
    python: Path,
    directory: Path,
    logical_id: str,
    event: dict[str, Any] | None = None,
    **variables: str,
) -> dict[str, Any]:
    script = directory / "run.py"
    script.write_text(RUN_HANDLER)
    # Lambda puts the function before the layer.
    path = f"{artifact.function(logical_id)}:{artifact.site}"
    environment = {
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "error",
        "AWS_DEFAULT_REGION": "us-east-1",
        "REGISTRY_ADMINISTRATORS": ROLE,
        **variables,
    }
    arguments = [HANDLERS[logical_id], *([] if event is None else [json.dumps(event)])]
    finished = subprocess.run(
        [python, "-s", script, *arguments],
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    told: dict[str, Any] = json.loads((directory / "run.py.out").read_text())
    return told


@pytest.mark.parametrize("logical_id", HANDLERS)
def test_a_handler_loads_with_nothing_but_the_layer(
    artifact: Artifact, bare_python: Path, tmp_path: Path, logical_id: str
) -> None:
    files = _run(artifact, bare_python, tmp_path, logical_id)["files"]
    ours = [file for file in files if "skill_registry" in file]
    assert ours
    assert all(file.startswith(str(artifact.site)) for file in ours)


def test_a_built_handler_answers_a_request(
    artifact: Artifact, bare_python: Path, tmp_path: Path
) -> None:
    skill = tmp_path / "skills" / "greeting" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: greeting\ndescription: Says hello.\n---\nSay hello.\n")
    event = http_event("GET /skills/{name}", path={"name": "greeting"})
    folder = str(tmp_path / "skills")
    told = _run(artifact, bare_python, tmp_path, "ViewSkillFunction", event, SKILLS_DIR=folder)
    assert told["answer"]["statusCode"] == 200
    assert json.loads(told["answer"]["body"])["content"].strip() == "Say hello."
    libraries = [file for file in told["files"] if "site-packages" in file]
    assert libraries == [], "a handler used a package that is not in the layer"


def test_the_s3_client_of_the_layer_is_whole(
    artifact: Artifact, bare_python: Path, tmp_path: Path
) -> None:
    closed = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "REGISTRY_BUCKET": "bucket"}
    closed["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"
    event = http_event("GET /skills")
    told = _run(artifact, bare_python, tmp_path, "ListSkillsFunction", event, **closed)
    assert told["answer"]["statusCode"] == 503
    assert json.loads(told["answer"]["body"])["code"] == "store_unavailable"
    assert any("botocore" in file for file in told["files"])


def test_every_shared_object_is_of_the_declared_architecture(either: Artifact) -> None:
    machines = {
        path.name: machine_of(path) for path in either.layer_files() if ".so" in path.suffixes
    }
    assert set(machines.values()) == {either.architecture}
    assert any(name.startswith("_pydantic_core") for name in machines)
    # Without it YAML is read by the slow parser.
    assert any(name.startswith("_yaml") for name in machines)


def test_every_module_has_bytecode_that_is_never_checked_against_times(
    artifact: Artifact, python313: Path
) -> None:
    command = [str(python313), "-c", "import importlib.util as u; print(u.MAGIC_NUMBER.hex())"]
    magic = bytes.fromhex(subprocess.check_output(command, text=True).strip())
    sources = [path for path in artifact.layer_files() if path.suffix == ".py"]
    assert len(sources) > 300
    for source in sources:
        bytecode = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        assert bytecode_kind(bytecode) == (magic, 1), source


def test_the_layer_holds_the_service_and_no_tool_test_or_agent_ring(either: Artifact) -> None:
    assert (either.site / "skill_registry" / "web" / "wiring.py").is_file()
    assert (either.site / "skill_registry" / "py.typed").is_file()
    described = "skill_registry/web/openapi.json"
    source = PROJECT / "layers" / "core" / described
    assert (either.site / described).read_bytes() == source.read_bytes()
    names = {path.relative_to(either.site).parts[0] for path in either.layer_files()}
    assert not names & {"tests", "scripts", "skill_registry_cli", "local_stack", "Makefile", "bin"}
    assert not names & {"pytest", "moto", "httpx", "typer", "awslambdaric", "requirements.txt"}
    assert not (either.site / "skill_registry" / "agent").exists()
    assert [path.name for path in either.layer.iterdir()] == ["python"]


def test_no_function_folder_hides_a_package_of_the_layer(artifact: Artifact) -> None:
    layer = {path.name.removesuffix(".py") for path in artifact.site.iterdir()}
    for logical_id in HANDLERS:
        assert not layer & {path.name for path in artifact.function(logical_id).iterdir()}


def test_functions_are_their_handlers_only(artifact: Artifact) -> None:
    for logical_id in HANDLERS:
        folder = artifact.function(logical_id)
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert files == {handler.split(".")[0] + "/app.py" for handler in HANDLERS.values()}


def test_licences_travel_with_the_code(either: Artifact) -> None:
    names = {path.name.split("-")[0] for path in either.site.glob("*.dist-info")}
    lock = (PROJECT / "layers" / "core" / "requirements.txt").read_text(encoding="utf-8")
    locked = {line.split("==")[0].replace("-", "_") for line in lock.splitlines() if "==" in line}
    assert {name.lower().replace("-", "_") for name in names} == locked


def test_the_layer_stays_small(either: Artifact, capsys: pytest.CaptureFixture[str]) -> None:
    size = either.zipped_size()
    with capsys.disabled():
        print(f"\nlayer for {either.architecture}: {size / MEGABYTE:.1f} MB zipped")
    assert size < 12 * MEGABYTE
