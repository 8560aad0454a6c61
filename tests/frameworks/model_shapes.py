"""The shapes of tools and answers, as the libraries of the model APIs see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import botocore.session
from anthropic.types import ToolParam, ToolResultBlockParam
from botocore.validate import validate_parameters
from framework_checks import run_checks
from jsonschema import Draft202012Validator
from mcp.types import CallToolResult, Tool
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import TypeAdapter

from skill_registry.agent import (
    Skillset,
    anthropic_result,
    anthropic_tools,
    bedrock_result,
    bedrock_tools,
    mcp_result,
    mcp_tools,
    openai_result,
    openai_tools,
)

if TYPE_CHECKING:
    from framework_checks import Skills

    from skill_registry.agent import SkillAnswer

TOOLS = ("view_skill", "list_skills", "use_skill")
CALLS: tuple[dict[str, Any], ...] = ({"name": "sums"}, {"name": "none", "path": "a.md"}, {})


def skillset(skills: Skills) -> Skillset:
    offered = Skillset(skills, tools=TOOLS)
    offered.refresh()
    return offered


def answers(skills: Skills) -> list[SkillAnswer]:
    offered = skillset(skills)
    return [offered.call(tool, arguments) for tool in TOOLS for arguments in CALLS]


def fits(shape: Any, value: dict[str, Any]) -> None:
    """Check a value against a ``TypedDict``, and that it has no member beside those of it."""
    TypeAdapter(shape).validate_python(value, strict=True)
    assert value.keys() <= shape.__annotations__.keys(), value


def check_schemas_are_json_schema_and_take_what_a_model_sends(skills: Skills) -> None:
    view, listing, use = skillset(skills).definitions()
    for tool in (view, listing, use):
        Draft202012Validator.check_schema(tool.parameters)
    accepts = Draft202012Validator(view.parameters).is_valid
    assert accepts({"name": "sums"})
    assert accepts({"name": "sums", "path": "references/units.md"})
    assert not accepts({"name": "none"})
    assert not accepts({"name": "sums", "version": 1})


def check_the_shapes_before_the_first_listing_are_taken_too(skills: Skills) -> None:
    for tool in anthropic_tools(Skillset(skills, tools=TOOLS).definitions()):
        fits(ToolParam, tool)


def check_anthropic(skills: Skills) -> None:
    for tool in anthropic_tools(skillset(skills).definitions()):
        fits(ToolParam, tool)
    for answer in answers(skills):
        fits(ToolResultBlockParam, anthropic_result("toolu_1", answer))


def check_openai(skills: Skills) -> None:
    for tool in openai_tools(skillset(skills).definitions()):
        fits(FunctionToolParam, tool)
        schema = tool["parameters"]
        # What "strict" asks for.
        assert set(schema["required"]) == schema["properties"].keys()
        assert schema["additionalProperties"] is False
    for answer in answers(skills):
        fits(FunctionCallOutput, openai_result("call_1", answer))


def check_mcp(skills: Skills) -> None:
    for tool in mcp_tools(skillset(skills).definitions()):
        read = Tool.model_validate(tool)
        assert read.model_dump(by_alias=True, exclude_none=True) == tool
        assert read.annotations is not None
        assert tool["annotations"]["readOnlyHint"] is True
    for answer in answers(skills):
        result = mcp_result(answer)
        read_result = CallToolResult.model_validate(result)
        dumped = read_result.model_dump(by_alias=True, exclude_none=True, mode="json")
        assert {key: dumped[key] for key in result} == result


def check_bedrock(skills: Skills) -> None:
    model = botocore.session.Session().get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").input_shape
    for answer in answers(skills):
        use = {"toolUse": {"toolUseId": "t1", "name": answer.tool, "input": {}}}
        request = {
            "modelId": "some-model",
            "messages": [
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [bedrock_result("t1", answer)]},
            ],
            "toolConfig": bedrock_tools(skillset(skills).definitions()),
        }
        # Raises ParamValidationError.
        validate_parameters(request, shape)


if __name__ == "__main__":
    run_checks(globals())
