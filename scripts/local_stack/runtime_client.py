"""A Runtime API client in plain Python, with the interface of awslambdaric's native one.

Source: AWS Lambda developer guide, "Using the Lambda runtime API". Used where the native module is
not built. The connection is kept open; when the server is gone, so is this process's work.
"""

from __future__ import annotations

import http.client
import os

VERSION = "2018-06-01"
DEADLINE = "Lambda-Runtime-Deadline-Ms"


class RuntimeConnection:
    """One connection to the Runtime API, used by one thread."""

    def __init__(self) -> None:
        self._connection: http.client.HTTPConnection | None = None
        self.user_agent = ""

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[bytes, dict[str, str]]:
        """Make one request and return the body and headers of its answer.

        Raises:
            RuntimeError: The answer is an error.
            OSError: The server is gone.
        """
        if self._connection is None:
            self._connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
        sent = {"User-Agent": self.user_agent, **(headers or {})}
        self._connection.request(method, f"/{VERSION}/runtime/{path}", body, sent)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"The Runtime API answered {response.status} to {path}")
        return content, dict(response.getheaders())


_CONNECTION = RuntimeConnection()


def initialize_client(user_agent: str) -> None:
    """Set the name that requests carry."""
    _CONNECTION.user_agent = user_agent


def next() -> tuple[bytes, dict[str, str | int]]:
    """Wait for an invocation and return its event and headers, named as the documentation does."""
    body, received = _CONNECTION.call("GET", "invocation/next")
    headers: dict[str, str | int] = {name.title(): text for name, text in received.items()}
    headers[DEADLINE] = int(headers[DEADLINE])
    return body, headers


def post_invocation_result(
    invoke_id: str, result: bytes, content_type: str, invocation_id: str | None = None
) -> None:
    """Answer an invocation."""
    headers = {"Content-Type": content_type}
    if invocation_id:
        headers["Lambda-Runtime-Invocation-Id"] = invocation_id
    _CONNECTION.call("POST", f"invocation/{invoke_id}/response", result, headers)


def post_error(
    invoke_id: str, error: str, xray_fault: str, invocation_id: str | None = None
) -> None:
    """Report that an invocation failed."""
    headers = {"Content-Type": "application/json"}
    if invocation_id:
        headers["Lambda-Runtime-Invocation-Id"] = invocation_id
    _CONNECTION.call("POST", f"invocation/{invoke_id}/error", error.encode(), headers)
