"""A model that answers from a script, behind the Anthropic Messages API on the loopback.

The real SDKs talk to it: ``ANTHROPIC_BASE_URL`` is its ``url``, any key does. It refuses what the
API refuses, so that a test that passes here is no promise of a broken request.
"""

from __future__ import annotations

import itertools
import json
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from messages_rules import Refused, blocks_of, check_request, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model was told of one of its calls."""

    text: str
    is_error: bool

    @property
    def document(self) -> Any:
        """The text as JSON."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request, as the model sees it.

    Attributes:
        body: As it was sent.
    """

    body: Mapping[str, Any]

    @property
    def system(self) -> str:
        """The system prompt."""
        return text_of(self.body.get("system"))

    @property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """The tools' JSON Schemas, by name."""
        return {tool["name"]: tool["input_schema"] for tool in self.body.get("tools", [])}

    @property
    def skills(self) -> list[str] | None:
        """The names that may be viewed; None where ``view_skill`` is not offered or not limited."""
        schema = self.tools.get("view_skill", {"properties": {"name": {}}})
        names: list[str] | None = schema["properties"]["name"].get("enum")
        return names

    @property
    def results(self) -> list[ToolResult]:
        """The results in the last message, in order."""
        return results_in(self.body["messages"][-1])

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        return text_of(self.body["messages"][-1]["content"])


def results_in(message: Mapping[str, Any]) -> list[ToolResult]:
    """Return the tool results of a message."""
    return [
        ToolResult(text_of(block.get("content")), bool(block.get("is_error")))
        for block in blocks_of(message["content"])
        if block["type"] == "tool_result"
    ]


# What the model says: blocks, or what makes them of the request, and may assert something of it.
Step = Sequence[Block] | Callable[[ModelRequest], Sequence[Block]]


def say(text: str) -> Block:
    """Return a text block."""
    return {"type": "text", "text": text}


def use(tool: str, /, **arguments: Any) -> Block:
    """Return a ``tool_use`` block; the model gives it an id when it says it."""
    return {"type": "tool_use", "name": tool, "input": arguments}


class ScriptedModel:
    """A model at ``url``. Use it in ``with``.

    Attributes:
        requests: Every request that was taken, in order.
        failures: What was refused, and steps that raised. A test that ends well has none.
    """

    def __init__(self, *script: Step) -> None:
        self._script = list(script)
        self._guard = threading.Lock()
        self._numbers = itertools.count(1)
        self.requests: list[ModelRequest] = []
        self.failures: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str]:
        """What the environment of an agent has to hold."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "none-is-needed"}

    def assert_played(self) -> None:
        """Check that the whole script was played, and that nothing went wrong."""
        assert self.failures == []
        assert len(self.requests) == len(self._script)

    def answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Play the next step. Raises Refused."""
        check_request(body)
        with self._guard:
            request = ModelRequest(body)
            if len(self.requests) == len(self._script):
                raise Refused("the script is at its end")
            step = self._script[len(self.requests)]
            self.requests.append(request)
            blocks = [self._said(each) for each in (step(request) if callable(step) else step)]
            number = next(self._numbers)
        calls = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": f"msg_{number:024d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": len(json.dumps(body)) // 4,
                "output_tokens": len(json.dumps(blocks)) // 4,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "service_tier": "standard",
            },
        }

    def _said(self, block: Block) -> Block:
        identity = {"id": f"toolu_{next(self._numbers):024d}"}
        return {**block, **identity} if block["type"] == "tool_use" else block


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ScriptedModel


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length) or b"{}")
        if self.path.partition("?")[0] != "/v1/messages":
            return self._fail(404, "not_found_error", self.path)
        key = self.headers.get("x-api-key") or self.headers.get("authorization")
        if not key or not self.headers.get("anthropic-version"):
            return self._fail(401, "authentication_error", "a key and a version are required")
        try:
            message = self.server.model.answer(body)
        except Refused as refused:
            return self._fail(400, "invalid_request_error", str(refused))
        except Exception:
            return self._fail(400, "invalid_request_error", traceback.format_exc())
        if body.get("stream"):
            events = b"".join(_events(message))
            return self._send(200, "text/event-stream; charset=utf-8", events)
        return self._send(200, "application/json", json.dumps(message).encode())

    def _fail(self, status: int, kind: str, message: str) -> None:
        self.server.model.failures.append(message)
        error = {"type": "error", "error": {"type": kind, "message": message}}
        self._send(status, "application/json", json.dumps(error).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("request-id", "req_scripted")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return


def _events(message: Mapping[str, Any]) -> Iterator[bytes]:
    """Return a message as the API streams it, in small pieces."""
    started = {**message, "content": [], "stop_reason": None}
    started["usage"] = {**message["usage"], "output_tokens": 1}
    yield _event("message_start", message=started)
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            whole, kind, member = block["text"], "text_delta", "text"
            yield _event("content_block_start", index=index, content_block={**block, "text": ""})
        else:
            whole, kind, member = json.dumps(block["input"]), "input_json_delta", "partial_json"
            yield _event("content_block_start", index=index, content_block={**block, "input": {}})
        for start in range(0, len(whole), 9):
            delta = {"type": kind, member: whole[start : start + 9]}
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event(
        "message_delta", delta=ended, usage={"output_tokens": message["usage"]["output_tokens"]}
    )
    yield _event("message_stop")


def _event(kind: str, **members: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()
