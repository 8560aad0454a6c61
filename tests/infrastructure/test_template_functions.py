"""The functions as Lambda gets them: runtime, code, settings, time and triggers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from infrastructure.conftest import PROJECT, ROLE

from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from infrastructure.conftest import Deploy
    from infrastructure.stack import Stack

HANDLERS = {
    "ListSkillsFunction": "list_skills.app.lambda_handler",
    "ViewSkillFunction": "view_skill.app.lambda_handler",
    "UploadSkillFunction": "upload_skill.app.lambda_handler",
    "RefreshMetadataFunction": "refresh_metadata.app.lambda_handler",
}
# They choose the directory store, which is used only where there is no bucket.
LOCAL_ONLY = {"SKILLS_DIR", "SKILLS_STRICT"}


def _functions(stack: Stack) -> dict[str, Any]:
    return stack.of_type("AWS::Lambda::Function")


def _settings(function: Any) -> Settings:
    variables = function["Environment"]["Variables"]
    return Settings.read({name: str(value) for name, value in variables.items()})


def test_there_are_four_functions_and_each_has_its_file(stack: Stack) -> None:
    assert {name: item["Handler"] for name, item in _functions(stack).items()} == HANDLERS
    for handler in HANDLERS.values():
        assert (PROJECT / "functions" / handler.split(".")[0] / "app.py").is_file()


def test_the_runtime_is_one_that_exists(stack: Stack) -> None:
    assert {item["Runtime"] for item in _functions(stack).values()} == {"python3.13"}


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_functions_and_layer_are_of_one_architecture(deploy: Deploy, architecture: str) -> None:
    stack = deploy(Administrators=ROLE, Architecture=architecture)
    (layer,) = stack.of_type("AWS::Lambda::LayerVersion").values()
    assert layer["CompatibleArchitectures"] == [architecture]
    assert layer["CompatibleRuntimes"] == ["python3.13"]
    assert [item["Architectures"] for item in _functions(stack).values()] == [[architecture]] * 4


def test_arm64_is_the_default(stack: Stack) -> None:
    assert stack.template["Parameters"]["Architecture"]["Default"] == "arm64"


def test_every_function_has_the_layer_and_old_layers_do_not_pile_up(stack: Stack) -> None:
    (layer,) = [
        name
        for name, item in stack.resources.items()
        if item["Type"] == "AWS::Lambda::LayerVersion"
    ]
    assert [item["Layers"] for item in _functions(stack).values()] == [["${" + layer + "}"]] * 4
    assert stack.resources[layer]["DeletionPolicy"] == "Delete"


def test_the_template_sets_exactly_the_variables_that_the_settings_read(stack: Stack) -> None:
    for function in _functions(stack).values():
        names = set(function["Environment"]["Variables"])
        assert names == Settings.variables() - LOCAL_ONLY


def test_the_template_and_the_settings_agree_on_every_default(stack: Stack) -> None:
    read = _settings(_functions(stack)["ListSkillsFunction"])
    assert read == replace(Settings(), registry_bucket="${Bucket}", registry_administrators=(ROLE,))


def test_a_deployment_decides_how_much_history_it_keeps(deploy: Deploy) -> None:
    stack = deploy(Administrators=ROLE, KeepVersions="3", KeepDays="0")
    for function in _functions(stack).values():
        variables = function["Environment"]["Variables"]
        assert (variables["KEEP_VERSIONS"], variables["KEEP_DAYS"]) == ("3", "0")
    parameters = stack.template["Parameters"]
    assert parameters["KeepVersions"]["MinValue"] == 1
    assert parameters["KeepDays"]["MinValue"] == 0


def test_a_deployment_decides_when_a_change_of_access_counts(deploy: Deploy) -> None:
    stack = deploy(Administrators=ROLE, AccessMaxAge="0", StrictAgents="true")
    for function in _functions(stack).values():
        read = _settings(function)
        assert (read.access_max_age, read.strict_agents) == (0, True)
    parameters = stack.template["Parameters"]
    assert parameters["AccessMaxAge"]["MinValue"] == 0
    assert parameters["StrictAgents"]["AllowedValues"] == ["true", "false"]


def test_a_deployment_decides_how_much_a_scope_and_a_caller_may_hold(deploy: Deploy) -> None:
    given = {"MaxScopeSkills": "5", "MaxScopeBytes": "4096", "MaxOutstandingUploads": "2"}
    for function in _functions(deploy(Administrators=ROLE, **given)).values():
        read = _settings(function)
        limits = (read.max_scope_skills, read.max_scope_bytes, read.max_outstanding_uploads)
        assert limits == (5, 4096, 2)


@pytest.mark.parametrize("tracing", ["PassThrough", "Active"])
def test_tracing_is_what_the_deployment_decides(deploy: Deploy, tracing: str) -> None:
    for function in _functions(deploy(Administrators=ROLE, Tracing=tracing)).values():
        assert function["TracingConfig"] == {"Mode": tracing}


def test_nothing_is_traced_unless_somebody_asks(stack: Stack) -> None:
    assert stack.template["Parameters"]["Tracing"]["Default"] == "PassThrough"


def test_administrators_reach_the_functions_as_they_were_given(deploy: Deploy) -> None:
    both = f"{ROLE},{ROLE}-2"
    for function in _functions(deploy(Administrators=both)).values():
        assert function["Environment"]["Variables"]["REGISTRY_ADMINISTRATORS"] == both


def test_functions_behind_the_api_answer_before_the_gateway_gives_up(stack: Stack) -> None:
    """Of refresh_metadata only batches and the schedule may take longer; it bounds its calls."""
    functions = _functions(stack)
    for name in set(HANDLERS) - {"RefreshMetadataFunction"}:
        assert functions[name]["Timeout"] < 30


def test_a_message_stays_hidden_for_longer_than_the_function_may_run(stack: Stack) -> None:
    timeout = _functions(stack)["RefreshMetadataFunction"]["Timeout"]
    assert stack.properties("EventsQueue")["VisibilityTimeout"] >= 2 * timeout


def test_only_the_failed_items_of_a_batch_come_again(stack: Stack) -> None:
    (mapping,) = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    assert mapping["EventSourceArn"] == "${EventsQueue.Arn}"
    assert mapping["FunctionName"] == "${RefreshMetadataFunction}"
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["MaximumBatchingWindowInSeconds"] > 0


def test_reconcile_runs_by_schedule_whatever_happened_to_events(stack: Stack) -> None:
    (rule,) = stack.of_type("AWS::Events::Rule").values()
    assert rule["ScheduleExpression"] == "rate(1 hour)"
    (target,) = rule["Targets"]
    assert target["Arn"] == "${RefreshMetadataFunction.Arn}"
    assert json.loads(target["Input"]) == {"action": "reconcile"}


def test_every_function_logs_to_a_group_that_forgets(stack: Stack) -> None:
    groups = stack.of_type("AWS::Logs::LogGroup")
    for name, function in _functions(stack).items():
        group = function["LoggingConfig"]["LogGroup"].strip("${}")
        assert group == name.replace("Function", "Logs")
        assert groups[group]["RetentionInDays"] == 30
    assert len(groups) == len(HANDLERS)
