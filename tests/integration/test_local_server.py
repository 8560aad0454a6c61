"""``./scripts/server`` as a whole: HTTP in and out, who may call, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from local_stack.emulator import Endpoint
from local_stack.errors import StackError
from local_stack.files import FileLock
from local_stack.launcher import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ADMINISTRATOR = "arn:aws:iam::000000000000:role/local-administrator"


@pytest.fixture
def client(toy_server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=toy_server.url, timeout=60, trust_env=False) as client:
        yield client


@pytest.fixture
def start(
    toy_template: Path, tmp_path: Path, stack_environments: None
) -> Iterator[Callable[..., ServerProcess]]:
    """Start servers that are ended with the test, whatever becomes of it."""
    running: list[ServerProcess] = []

    def start(*arguments: str, data: Path = tmp_path / "data") -> ServerProcess:
        toys = ("--template", str(toy_template), "--empty", "--environments", "1")
        server = ServerProcess(data, *toys, *arguments)
        server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


def wait_until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)


def post_and_be_cut_off(url: str) -> None:
    with pytest.raises(httpx.TransportError):
        httpx.post(url, timeout=60, trust_env=False)


def processes_of(data: Path) -> list[str]:
    """Command lines of processes that work on a data folder, or were started with it."""
    found = []
    for process in Path("/proc").glob("[0-9]*") if Path("/proc/self/environ").exists() else ():
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(data) in text and process.name != str(os.getpid()):
            found.append((process / "cmdline").read_bytes().decode().replace("\0", " "))
    return found


def test_a_request_becomes_an_api_gateway_event(client: httpx.Client) -> None:
    event = client.request(
        "REPORT",
        "/echo?scope=a&scope=b&q=x%20y",
        headers=[("X-Two", "1"), ("X-Two", "2"), ("Cookie", "a=1; b=2"), ("User-Agent", "me")],
    ).json()
    context = event["requestContext"]
    assert event["version"] == "2.0"
    assert event["routeKey"] == context["routeKey"] == "ANY /echo"
    assert event["rawQueryString"] == "scope=a&scope=b&q=x%20y"
    assert event["queryStringParameters"] == {"scope": "a,b", "q": "x y"}
    assert event["cookies"] == ["a=1", "b=2"]
    assert event["headers"]["x-two"] == "1,2"
    assert "cookie" not in event["headers"]
    assert "body" not in event and event["isBase64Encoded"] is False
    assert context["stage"] == "$default"
    assert context["http"]["method"] == "REPORT"
    assert context["http"]["userAgent"] == "me"
    assert context["domainName"] == "127.0.0.1"


def test_a_path_is_decoded_once(client: httpx.Client) -> None:
    event = client.get("/things/a%20b%2525%C3%BC").json()
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/things/a b%25ü"
    assert event["pathParameters"] == {"name": "a b%25ü"}


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", b'{"a": 1}', ('{"a": 1}', False)),
        ("text/plain; charset=utf-8", "ü".encode(), ("ü", False)),
        ("application/zip", b"PK", ("UEs=", True)),
        ("application/json", b"\xff", ("/w==", True)),
        ("application/x-www-form-urlencoded", b"a=1", ("YT0x", True)),
    ],
)
def test_a_body_is_text_or_base64_by_its_type(
    client: httpx.Client, content_type: str, body: bytes, expected: tuple[str, bool]
) -> None:
    event = client.post("/echo", content=body, headers={"Content-Type": content_type}).json()
    assert (event["body"], event["isBase64Encoded"]) == expected


def test_the_caller_is_a_local_administrator_without_claims(client: httpx.Client) -> None:
    authorizer = client.get("/echo").json()["requestContext"]["authorizer"]
    assert authorizer["iam"]["userArn"] == ADMINISTRATOR


def test_claims_become_a_jwt_authorizer_as_api_gateway_writes_it(client: httpx.Client) -> None:
    claims = {"sub": "ann", "teams": ["red", "blue"], "exp": 17, "admin": True}
    event = client.get("/echo", headers={"X-Local-Claims": json.dumps(claims)}).json()
    assert event["requestContext"]["authorizer"] == {
        "jwt": {
            "claims": {"sub": "ann", "teams": "[red blue]", "exp": "17", "admin": "true"},
            "scopes": None,
        }
    }
    assert "x-local-claims" not in event["headers"]


@pytest.mark.parametrize("claims", ["", "no json", "[]", '"ann"'])
def test_claims_that_are_no_object_are_unauthorized(client: httpx.Client, claims: str) -> None:
    assert client.get("/echo", headers={"X-Local-Claims": claims}).status_code == 401


def test_a_result_becomes_a_response(client: httpx.Client) -> None:
    response = client.post("/do/binary")
    assert response.status_code == 201
    assert response.content == b"\x00\xff"
    assert response.headers["content-type"] == "image/x"
    assert response.headers["x-many"] == "a,b"
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2; Path=/"]


def test_a_result_without_a_status_is_a_json_body(client: httpx.Client) -> None:
    response = client.post("/do/count")
    assert response.headers["content-type"] == "application/json"
    assert response.json()["calls"] >= 1


@pytest.mark.parametrize("what", ["raise", "nonsense", "exit", "large"])
def test_a_function_that_fails_is_an_internal_error_and_works_again(
    client: httpx.Client, what: str
) -> None:
    response = client.post(f"/do/{what}")
    assert (response.status_code, response.json()) == (500, {"message": "Internal Server Error"})
    assert client.get("/echo").status_code == 200


def test_unknown_routes_and_methods_go_to_the_default_route(client: httpx.Client) -> None:
    for response in (client.get("/nothing"), client.post("/things/all"), client.get("/things/")):
        assert (response.status_code, response.json()) == (404, {"route": "$default"})


def test_an_event_over_lambdas_limit_is_refused(client: httpx.Client) -> None:
    under = {"content": b"x" * (6 * 1024 * 1024 - 4096), "headers": {"Content-Type": "text/plain"}}
    assert client.post("/do/count", **under).status_code == 200  # type: ignore[arg-type]
    for size in (6 * 1024 * 1024, 11 * 1024 * 1024):
        response = client.post("/do/count", content=b"x" * size)
        assert (response.status_code, response.json()) == (413, {"message": "Request Too Long"})


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "registry.example:80"},
        {"Host": "localhost"},
        {"Host": "127.0.0.1.example.com"},
        {"Origin": "https://example.com"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
    ],
)
def test_foreign_hosts_and_origins_are_refused(
    client: httpx.Client, headers: dict[str, str]
) -> None:
    assert client.get("/echo", headers=headers).status_code == 403


def test_the_server_s_own_names_are_accepted(
    client: httpx.Client, toy_server: ServerProcess
) -> None:
    port = toy_server.url.rsplit(":", 1)[1]
    for name in ("localhost", "127.0.0.1", "[::1]"):
        headers = {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
        assert client.get("/echo", headers=headers).status_code == 200


def test_functions_reach_the_store_with_keys_of_their_own(client: httpx.Client) -> None:
    environment = client.post("/do/environment").json()
    assert environment["AWS_ACCESS_KEY_ID"] != "test"
    assert environment["COLOUR"] == "green"
    assert environment["STORE"] == environment["REGISTRY_BUCKET"] == "skill-registry"
    assert environment["REGISTRY_ADMINISTRATORS"] == ADMINISTRATOR
    assert "ELSEWHERE" not in environment
    assert "PYENV_VERSION" not in environment
    assert client.post("/do/put").json() == '"c4ca4238a0b923820dcc509a6f75849b"'


def test_what_functions_print_is_in_their_log(
    client: httpx.Client, toy_server: ServerProcess
) -> None:
    client.get("/echo")
    log = toy_server.data / "logs" / "caller.log"
    wait_until(lambda: "echoing" in log.read_text())
    assert "echoing" in log.read_text()


def test_the_last_line_on_stdout_says_where_it_is_ready(toy_server: ServerProcess) -> None:
    assert toy_server.lines[-1] == f"ready: {toy_server.url}"
    assert len(toy_server.lines) <= 4


def test_a_second_server_on_the_same_data_is_refused(
    toy_server: ServerProcess, start: Callable[..., ServerProcess]
) -> None:
    with pytest.raises(StackError, match="is in use by another server") as refusal:
        start(data=toy_server.data)
    assert str(refusal.value).count("\n") == 0


def test_a_port_in_use_is_one_sentence(
    toy_server: ServerProcess, start: Callable[..., ServerProcess]
) -> None:
    port = toy_server.url.rsplit(":", 1)[1]
    with pytest.raises(StackError, match=rf"Port {port} cannot be opened") as refusal:
        start("--port", port)
    assert str(refusal.value).count("\n") == 0


def test_a_data_folder_that_cannot_be_made_is_one_sentence(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StackError, match="cannot be made") as refusal:
        start(data=tmp_path / "file" / "data")
    assert str(refusal.value).count("\n") == 0


def test_a_function_that_cannot_be_imported_ends_the_start_with_its_log(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(
        "Resources: {Gone: {Type: AWS::Serverless::Function, Properties: {Handler: gone.handler}}}"
    )
    with pytest.raises(StackError, match=r"The function gone does not start; see .*gone\.log"):
        start("--template", str(template))
    assert processes_of(tmp_path / "data") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_and_every_child(
    start: Callable[..., ServerProcess], tmp_path: Path, number: signal.Signals
) -> None:
    server = start()
    assert server.stop(number) == 0
    assert processes_of(tmp_path / "data") == []
    assert FileLock(tmp_path / "data" / "emulator.lock").acquire()


def test_a_killed_server_loses_nothing_and_starts_again(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    first = start()
    store = first.note()["store"]
    s3 = Endpoint(store).client("s3")
    s3.put_object(Bucket="skill-registry", Key="kept", Body=b"1", Metadata={"a": "b"})
    s3.close()
    # A handler in the middle of its work waits for no next event: it must notice all the same.
    call = threading.Thread(target=post_and_be_cut_off, args=(f"{first.url}/do/sleep",))
    call.start()
    wait_until(lambda: "sleeping" in (tmp_path / "data" / "logs" / "caller.log").read_text())
    os.kill(first.process_id, signal.SIGKILL)
    call.join()
    # No waiting for the children: a restart must cope with those that are still there.
    second = start()
    assert second.note()["store"] == store
    s3 = Endpoint(store).client("s3")
    kept = s3.get_object(Bucket="skill-registry", Key="kept")
    assert (kept["Body"].read(), kept["Metadata"]) == (b"1", {"a": "b"})
    s3.close()
    second.stop()
    wait_until(lambda: processes_of(tmp_path / "data") == [])


def test_two_servers_share_one_store(
    toy_server: ServerProcess, start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    store = toy_server.note()["store"]
    second = start("--store", store, data=tmp_path / "second")
    assert second.note()["queue"] == toy_server.note()["queue"]
    environment = httpx.post(f"{second.url}/do/environment", trust_env=False).json()
    assert environment["AWS_ENDPOINT_URL"] == store
    assert second.stop() == 0
    assert httpx.get(f"{toy_server.url}/echo", trust_env=False).status_code == 200


def test_a_store_that_does_not_answer_is_one_sentence(
    start: Callable[..., ServerProcess],
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        store = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(StackError, match=f"The store {store} did not") as refusal:
            start("--store", store)
    assert str(refusal.value).count("\n") == 0


def test_help_names_every_option() -> None:
    command = [str(Path(__file__).parents[2] / "scripts" / "server"), "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for option in ("--port", "--data", "--store", "--empty", "--environments", "--bucket"):
        assert option in text
