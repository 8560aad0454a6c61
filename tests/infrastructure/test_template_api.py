"""Who may call what: every route, its function, and the authorizer of both modes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from infrastructure.conftest import TEMPLATE
from infrastructure.stack import Stack

from skill_registry.web.contract import (
    LIST_ROUTES,
    MAINTENANCE_ROUTES,
    UPLOAD_ROUTES,
    VIEW_ROUTES,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from infrastructure.conftest import Deploy

ANY = ("x-amazon-apigateway-any-method", "$default")


def _keys(*routes: str) -> list[tuple[str, str]]:
    return [(method.lower(), path) for method, path in map(str.split, routes)]


ROUTES = {
    **dict.fromkeys([*_keys(*LIST_ROUTES), ANY], "ListSkillsFunction"),
    **dict.fromkeys(_keys(*VIEW_ROUTES), "ViewSkillFunction"),
    **dict.fromkeys(_keys(*UPLOAD_ROUTES), "UploadSkillFunction"),
    **dict.fromkeys(_keys(*MAINTENANCE_ROUTES), "RefreshMetadataFunction"),
}
ISSUER = "https://issuer.example/realm"
JWT = {"AuthMode": "JWT", "JwtIssuer": ISSUER, "JwtAudience": "registry,agents"}

# What SAM itself makes of an authorizer that is not chosen by a condition.
PLAIN_JWT = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers:
          Jwt:
            IdentitySource: $request.header.Authorization
            JwtConfiguration: {issuer: https://issuer.example/realm, audience: [registry, agents]}
  Function:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.13
      Handler: app.handler
      CodeUri: code/
      Events:
        List: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: /skills}}
"""


def _operations(body: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (method, path): operation
        for path, methods in body["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_of_the_contract_reaches_its_function(stack: Stack) -> None:
    reached = {}
    for route, operation in _operations(stack.properties("Api")["Body"]).items():
        integration = operation["x-amazon-apigateway-integration"]
        assert integration["payloadFormatVersion"] == "2.0"
        match = re.search(r"\$\{(\w+)\.Arn\}", integration["uri"])
        assert match
        reached[route] = match[1]
    assert reached == ROUTES


def test_what_no_route_takes_is_answered_by_the_default_route(stack: Stack) -> None:
    assert _operations(stack.properties("Api")["Body"])[ANY]["isDefaultRoute"] is True


def test_every_function_with_a_route_may_be_invoked_by_the_api(stack: Stack) -> None:
    permissions = stack.of_type("AWS::Lambda::Permission").values()
    invoked = {
        permission["FunctionName"].strip("${}")
        for permission in permissions
        if permission["Principal"] == "apigateway.amazonaws.com"
        and permission["SourceArn"].startswith("arn:${AWS::Partition}:execute-api:")
    }
    assert invoked == set(ROUTES.values())


def test_in_iam_mode_every_route_demands_signed_requests(stack: Stack) -> None:
    body = stack.properties("Api")["Body"]
    operations = _operations(body)
    assert [item["security"] for item in operations.values()] == [[{"AWS_IAM": []}]] * len(ROUTES)
    (scheme,) = body["components"]["securitySchemes"].values()
    assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_in_jwt_mode_every_route_demands_a_token(deploy: Deploy) -> None:
    body = deploy(**JWT).properties("Api")["Body"]
    operations = _operations(body)
    assert [item["security"] for item in operations.values()] == [[{"Jwt": []}]] * len(ROUTES)


def test_the_jwt_authorizer_is_the_one_that_sam_would_make(
    deploy: Deploy,
    translate: Callable[[Path, dict[str, str]], dict[str, Any]],
    tmp_path: Path,
) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(PLAIN_JWT)
    plain = translate(template, {})["Resources"]["Api"]["Properties"]["Body"]
    ours = deploy(**JWT).properties("Api")["Body"]
    assert (
        ours["components"]["securitySchemes"]["Jwt"]
        == plain["components"]["securitySchemes"]["Jwt"]
    )
    assert (
        ours["paths"]["/skills"]["get"]["security"] == plain["paths"]["/skills"]["get"]["security"]
    )


@pytest.mark.parametrize("parameters", [{}, JWT])
def test_a_route_that_names_no_authorizer_demands_iam(
    deploy: Deploy,
    translate: Callable[[Path, dict[str, str]], dict[str, Any]],
    tmp_path: Path,
    parameters: dict[str, str],
) -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    forgotten = text.replace("          /validate:\n            post: {security: *caller}\n", "")
    assert forgotten != text
    template = tmp_path / "template.yaml"
    template.write_text(forgotten, encoding="utf-8")
    body = Stack(translate(template, parameters), parameters).properties("Api")["Body"]
    assert body["paths"]["/validate"]["post"]["security"] == [{"AWS_IAM": []}]


def test_the_stage_has_no_name_in_its_paths(stack: Stack) -> None:
    (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
