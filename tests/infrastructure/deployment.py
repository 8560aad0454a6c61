"""A stack on MiniStack: deployed by commands that are typed, called as API Gateway calls it."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import time
from typing import TYPE_CHECKING, Any

import boto3
import httpx
from house import http_event
from infrastructure.test_template_api import ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from local_stack.emulator import Endpoint

COMMAND_SECONDS = 120
EVENT_SECONDS = 60


class Deployment:
    """One stack, and the folder that its commands are typed in.

    MiniStack makes no routes from an HTTP API's definition, so requests are handed to the function
    that the template names for their route. What a function asks of S3 meets its role's rights.

    Args:
        endpoint: The emulator, which speaks TLS.
        folder: A checkout with its build in ``.aws-sam/build``.
        tools: Folder with the ``sam`` command.
        stack: The stack's name.
        caller: ARN of the role session that requests come from.
    """

    def __init__(
        self, endpoint: Endpoint, folder: Path, tools: Path, stack: str, caller: str
    ) -> None:
        self.endpoint = endpoint
        self._folder = folder
        self._stack = stack
        self._caller = caller
        self._environment = {
            "PATH": f"{tools}:{os.defpath}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "SAM_CLI_TELEMETRY": "0",
            # What is not for the emulator goes to a proxy that is not there.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            **endpoint.environment(),
        }
        self._clients: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()

    def run(self, command: str, answers: str = "") -> None:
        """Type a command and answer its questions; it has to succeed."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            input=answers,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_SECONDS,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"

    def client(self, service: str) -> Any:
        """Return a boto3 client with the rights of whoever deploys."""
        if service not in self._clients:
            self._clients[service] = self.endpoint.client(service)
        return self._clients[service]

    def s3_of(self, role: str) -> Any:
        """Return an S3 client with the rights of a role of the template."""
        return self.s3_in_session_of(self.name_of(role))

    def s3_of_anybody(self, name: str) -> Any:
        """Return an S3 client of a role of another stack, which may do everything with S3."""
        everything = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        assume = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}
        iam = self.client("iam")
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(assume))
        iam.put_role_policy(RoleName=name, PolicyName="s3", PolicyDocument=_policy(everything))
        return self.s3_in_session_of(name)

    def s3_in_session_of(self, role_name: str) -> Any:
        """Return an S3 client in a session of a role that exists."""
        if role_name not in self._clients:
            arn = self.client("iam").get_role(RoleName=role_name)["Role"]["Arn"]
            answer = self.client("sts").assume_role(RoleArn=arn, RoleSessionName="session")
            keys = answer["Credentials"]
            self._clients[role_name] = boto3.client(
                "s3",
                endpoint_url=self.endpoint.url,
                region_name=self.endpoint.region,
                aws_access_key_id=keys["AccessKeyId"],
                aws_secret_access_key=keys["SecretAccessKey"],
                aws_session_token=keys["SessionToken"],
                verify=str(self.endpoint.certificate),
            )
        return self._clients[role_name]

    def outputs(self) -> dict[str, str]:
        """Return the stack's outputs."""
        (stack,) = self.client("cloudformation").describe_stacks(StackName=self._stack)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def name_of(self, logical_id: str) -> str:
        """Return the name that a resource of the template got."""
        if not self._names:
            found = self.client("cloudformation").describe_stack_resources(StackName=self._stack)
            self._names = {
                resource["LogicalResourceId"]: resource["PhysicalResourceId"]
                for resource in found["StackResources"]
            }
        return self._names[logical_id]

    def invoke(self, logical_id: str, event: dict[str, Any]) -> Any:
        """Invoke a function and return its result."""
        answer = self.client("lambda").invoke(
            FunctionName=self.name_of(logical_id), Payload=json.dumps(event)
        )
        result = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, result
        return result

    def call(self, route: str, **more: Any) -> Any:
        """Send a request, described as for ``http_event``, and return its JSON answer."""
        event = http_event(route, **more)
        event["requestContext"]["authorizer"]["iam"]["userArn"] = self._caller
        method, path = route.split()
        result = self.invoke(ROUTES[method.lower(), path], event)
        assert result["statusCode"] < 300, result["body"]
        return json.loads(result["body"])

    def send(self, ticket: dict[str, Any], data: bytes) -> None:
        """Put bytes where an upload ticket says."""
        trusted = ssl.create_default_context(cafile=self.endpoint.certificate)
        headers: dict[str, str] = ticket["headers"]
        sent = httpx.put(
            ticket["url"], content=data, headers=headers, verify=trusted, trust_env=False
        )
        assert sent.status_code == 200, sent.text


def _policy(statement: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def wait_for(condition: Callable[[], Any]) -> Any:
    """Ask until the answer is true, and return it."""
    deadline = time.monotonic() + EVENT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.2)
    return found
