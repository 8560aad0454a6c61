"""The template as a whole: it lints, nothing depends on itself, bad parameters fail early."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from infrastructure.conftest import PROJECT, ROLE, TEMPLATE
from infrastructure.stack import Stack, find_cycle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from infrastructure.conftest import Deploy

BARE_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "SAM_CLI_TELEMETRY": "0"}

SELF_DEPENDENT = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Store: {Type: AWS::S3::Bucket}
  Reader:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: app.handler
      CodeUri: code/
      Environment: {Variables: {STORE: !Ref Store}}
      Events:
        Written: {Type: S3, Properties: {Bucket: !Ref Store, Events: s3:ObjectCreated:*}}
"""


def test_sam_accepts_the_template_without_credentials_or_region(
    tools: Path, tmp_path: Path
) -> None:
    finished = subprocess.run(
        [tools / "sam", "validate", "--lint", "--template", TEMPLATE],
        env=BARE_ENVIRONMENT | {"HOME": str(tmp_path)},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_cfn_lint_finds_nothing_not_even_advice(tools: Path, tmp_path: Path) -> None:
    finished = subprocess.run(
        [tools / "cfn-lint", "--non-zero-exit-code", "informational", "--", TEMPLATE],
        env=BARE_ENVIRONMENT | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_no_resource_depends_on_itself(stack: Stack) -> None:
    assert find_cycle(stack.resources) == []


def test_a_cycle_that_linters_accept_is_found(
    translate: Callable[[Path, dict[str, str]], dict[str, Any]], tmp_path: Path
) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(SELF_DEPENDENT)
    cycle = find_cycle(translate(template, {})["Resources"])
    assert {"Store", "ReaderWrittenPermission"} <= set(cycle) or {"Store", "Reader"} <= set(cycle)


def test_every_parameter_but_the_administrators_may_be_left_out(stack: Stack) -> None:
    assert stack.failed_rules() == []
    assert all("Default" in parameter for parameter in stack.template["Parameters"].values())


def test_a_stack_that_nobody_could_use_is_refused(deploy: Deploy) -> None:
    (sentence,) = deploy().failed_rules()
    assert "Administrators" in sentence


def test_jwt_without_issuer_or_audience_is_refused(deploy: Deploy) -> None:
    sentences = deploy(AuthMode="JWT").failed_rules()
    assert len(sentences) == 2
    assert "JwtIssuer" in sentences[0]
    assert "JwtAudience" in sentences[1]


def test_administrators_are_roles_not_sessions_or_users(stack: Stack) -> None:
    pattern = stack.template["Parameters"]["Administrators"]["AllowedPattern"]
    session = "arn:aws:sts::111122223333:assumed-role/admin/me"
    user = "arn:aws:iam::111122223333:user/me"
    for accepted in ("", ROLE, f"{ROLE},{ROLE}", "arn:aws-cn:iam::111122223333:role/path/a_b"):
        assert re.fullmatch(pattern, accepted), accepted
    for refused in (session, user, f"{ROLE}, {ROLE}", f"{ROLE},", "admin"):
        assert not re.fullmatch(pattern, refused), refused


def test_outputs_name_what_operators_and_clients_need(stack: Stack) -> None:
    outputs = {
        name: stack.evaluate(output["Value"]) for name, output in stack.template["Outputs"].items()
    }
    assert outputs == {
        "ApiUrl": "https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}",
        "ApiArn": "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*",
        "Bucket": "${Bucket}",
        "Queue": "${EventsQueue}",
        "DeadLetterQueue": "${DeadLetterQueue}",
    }
