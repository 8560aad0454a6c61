"""What the local stack reads out of a SAM template, the project's own one above all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toys import write_toy_project

from local_stack.errors import StackError
from local_stack.template import ObjectRule, QueueSource, Schedule, read_template
from local_stack.virtualenvs import PROJECT

if TYPE_CHECKING:
    from pathlib import Path


def test_a_template_gives_functions_with_their_settings(tmp_path: Path) -> None:
    template = read_template(write_toy_project(tmp_path), "my-bucket")
    caller, consumer = template.functions
    assert (caller.name, caller.handler) == ("caller", "caller.lambda_handler")
    assert caller.code == tmp_path / "code"
    assert caller.timeout == 2
    assert caller.environment == {"COLOUR": "green", "STORE": "my-bucket"}
    assert consumer.memory == 128
    assert template.queue == QueueSource("consumer", 10, visibility=30, receives=2)
    assert template.schedules == (Schedule("consumer", '{"action":"tidy"}'),)
    assert template.rules == (ObjectRule("s3:ObjectCreated:*", "inbox/", ".txt"),)
    keys = [route.key for route in template.routes]
    assert keys[:3] == ["ANY /echo", "GET /things/{name}", "GET /things/all"]
    assert keys[-1] == "$default"


def test_a_parameter_takes_the_place_of_its_default() -> None:
    path = PROJECT / "template.yaml"
    template = read_template(path, "b", {"KeepVersions": "3"})
    assert {f.environment["KEEP_VERSIONS"] for f in template.functions} == {"3"}
    assert {f.environment["KEEP_DAYS"] for f in template.functions} == {"30"}
    with pytest.raises(StackError, match="no parameter KeepVersion"):
        read_template(path, "b", {"KeepVersion": "3"})


def test_code_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    copy = tmp_path / "template.yaml"
    copy.write_bytes((PROJECT / "template.yaml").read_bytes())
    with pytest.raises(StackError, match="which is missing"):
        read_template(copy, "b")


def test_the_project_s_functions_have_their_roles_rights_on_the_bucket() -> None:
    for function in read_template(PROJECT / "template.yaml", "my-bucket").functions:
        resources = [arn for statement in function.statements for arn in statement["Resource"]]
        assert "arn:aws:s3:::my-bucket" in resources
        assert all(arn.startswith("arn:aws:s3:::my-bucket") for arn in resources)


def test_the_project_s_template_has_what_the_stack_runs() -> None:
    template = read_template(PROJECT / "template.yaml", "my-bucket")
    names = {function.name for function in template.functions}
    assert names == {"list_skills", "view_skill", "upload_skill", "refresh_metadata"}
    assert all((function.code / function.name).is_dir() for function in template.functions)
    assert {"GET /skills", "GET /skills/{name}", "POST /uploads", "$default"} <= {
        route.key for route in template.routes
    }
    assert template.queue is not None and template.queue.function == "refresh_metadata"
    assert template.rules and template.schedules


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read"),
        ("Resources: [", "is not YAML"),
        ("[]", "has no resources"),
        ("Resources: {F: {Type: AWS::Serverless::Function}}", "F of the template names no handler"),
    ],
)
def test_a_file_that_is_no_template_is_one_sentence(
    tmp_path: Path, text: str | None, sentence: str
) -> None:
    path = tmp_path / "template.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(StackError, match=sentence):
        read_template(path, "my-bucket")
