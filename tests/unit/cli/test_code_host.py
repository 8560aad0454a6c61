"""The stand-in for a code host answers as GitHub does, over the repositories that a test makes."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import httpx
import pytest
from code_host import DOWNLOAD_TOKEN, CodeHost, Fault
from code_host_proxy import Proxy
from command_line import Capture, Run
from git_repositories import Executable, Link, Repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHA = {"Accept": "application/vnd.github.sha"}
TOKEN = "made-up-token-of-a-test"
BINARY = bytes(range(256)) * 300


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "upstream")
    repository.commit({"a/SKILL.md": "one\r\ntwo\n", "a/bin": BINARY})
    return repository


@pytest.fixture
def host(upstream: Repository) -> Iterator[CodeHost]:
    with CodeHost() as running:
        running.add("acme/kit", upstream)
        yield running


@pytest.fixture
def web() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False) as client:
        yield client


def api(host: CodeHost, rest: str) -> str:
    return f"{host.url}/api/v3/repos/acme/kit/{rest}"


def test_a_commit_holds_exactly_the_files_of_the_test(upstream: Repository) -> None:
    first = upstream.head()
    odd = 'an "odd"\\ näme/x y'
    second = upstream.commit({odd: Executable(b"\r\n\0"), "l": Link("../a"), "a/bin": None})
    assert upstream.files(second) == {
        "a/SKILL.md": ("100644", b"one\r\ntwo\n"),
        odd: ("100755", b"\r\n\0"),
        "l": ("120000", b"../a"),
    }
    assert upstream.files(first)["a/bin"] == ("100644", BINARY)
    third = upstream.move("a", "b/c")
    assert upstream.files(third).keys() == {"b/c/SKILL.md", odd, "l"}
    upstream.reset("main", second)
    assert upstream.head("main") == second


def test_commits_are_the_same_everywhere(
    upstream: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Else")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    other = Repository(tmp_path / "other")
    assert other.commit({"a/bin": BINARY, "a/SKILL.md": "one\r\ntwo\n"}) == upstream.head()
    assert Repository(tmp_path / "other").head() == upstream.head()


def test_what_names_a_commit_does_so_over_http(
    upstream: Repository, host: CodeHost, web: httpx.Client
) -> None:
    first = upstream.head()
    upstream.tag("v1", annotated=True)
    upstream.branch("topic/x")
    upstream.commit({"b": "b"})
    named = ("v1", "tags/v1", "topic/x", "topic%2Fx", "heads/topic/x", first, first[:8])
    for ref in named:
        answer = web.get(api(host, f"commits/{ref}"), headers=SHA)
        assert (answer.status_code, answer.text) == (200, first), ref
    assert web.get(api(host, "commits/main")).json() == {"sha": upstream.head("main")}
    for ref in ("nowhere", "main~1", "main..v1", "--all", "0" * 40, "topic"):
        answer = web.get(api(host, f"commits/{ref}"), headers=SHA)
        wanted = {"message": f"No commit found for SHA: {ref}"}
        assert (answer.status_code, answer.json()) == (422, wanted)
        assert int(answer.headers["x-ratelimit-remaining"]) > 0


def test_an_empty_repository_has_no_commit(
    host: CodeHost, web: httpx.Client, tmp_path: Path
) -> None:
    host.add("acme/empty", Repository(tmp_path / "empty"))
    answer = web.get(f"{host.url}/api/v3/repos/acme/empty/commits/main", headers=SHA)
    assert (answer.status_code, answer.json()["message"]) == (409, "Git Repository is empty.")


@pytest.mark.parametrize("chunked", [False, True])
def test_an_archive_is_the_one_that_git_makes(
    upstream: Repository, host: CodeHost, web: httpx.Client, chunked: bool
) -> None:
    host.chunked = chunked
    sha = upstream.head()
    redirect = web.get(api(host, f"zipball/{sha}"))
    place = f"{host.url}/codeload/acme/kit/legacy.zip/{sha}"
    assert (redirect.status_code, redirect.headers["location"]) == (302, place)
    answer = web.get(place)
    assert ("content-length" in answer.headers) is not chunked
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.comment == sha.encode()
        assert archive.read(f"acme-kit-{sha[:7]}/a/bin") == BINARY
    assert (host.count("zipball"), host.count("legacy.zip"), host.leaks) == (1, 1, [])


def test_a_renamed_repository_answers_by_its_number(
    upstream: Repository, host: CodeHost, web: httpx.Client
) -> None:
    host.rename("acme/kit", "evil/kit")
    answer = web.get(api(host, "commits/a%2Fb"))
    place = f"{host.url}/api/v3/repositories/1000/commits/a%2Fb"
    assert (answer.status_code, answer.headers["location"]) == (301, place)
    assert answer.json() == {"message": "Moved Permanently", "url": place}
    by_number = web.get(place.replace("a%2Fb", "main"), headers=SHA)
    by_name = web.get(f"{host.url}/api/v3/repos/Evil/Kit/commits/main", headers=SHA)
    assert by_number.text == by_name.text == upstream.head()
    host.remove("evil/kit")
    assert web.get(api(host, "commits/main")).status_code == 404


def test_a_private_repository_shows_itself_to_the_token_alone(
    upstream: Repository, host: CodeHost, web: httpx.Client
) -> None:
    host.token = TOKEN
    host.remove("acme/kit")
    host.add("acme/kit", upstream, private=True)
    url, good = api(host, "zipball/main"), {"Authorization": f"Bearer {TOKEN}"}
    hidden = web.get(url)
    assert (hidden.status_code, hidden.json()) == (404, {"message": "Not Found"})
    wrong = web.get(url, headers={"Authorization": "Bearer wrong"})
    assert (wrong.status_code, wrong.json()) == (401, {"message": "Bad credentials"})
    place = web.get(url, headers=good).headers["location"]
    assert place.endswith(f"/legacy.zip/main?token={DOWNLOAD_TOKEN}")
    assert web.get(place.partition("?")[0]).status_code == 404
    assert (web.get(place).status_code, host.leaks) == (200, [])
    web.get(place, headers=good)
    assert [request.header("Authorization") for request in host.leaks] == [f"Bearer {TOKEN}"]


def test_faults_befall_the_requests_that_they_match_and_are_used_up(
    host: CodeHost, web: httpx.Client
) -> None:
    called: list[str] = []
    limited = Fault("commits", 403, {"X-RateLimit-Remaining": "0"}, times=2)
    turned = Fault("commits", transform=lambda data: data[::-1], before=lambda: called.append("x"))
    host.faults += [Fault("legacy.zip", drop=True), limited, turned]
    url = api(host, "commits/main")
    answers = [web.get(url, headers=SHA) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [403, 403, 200, 200]
    assert answers[0].headers.get_list("x-ratelimit-remaining") == ["0"]
    assert (answers[2].text, called) == (answers[3].text[::-1], ["x"])
    with pytest.raises(httpx.RemoteProtocolError):
        web.get(f"{host.url}/codeload/acme/kit/legacy.zip/main")
    assert host.faults == []


@pytest.mark.parametrize("chunked", [False, True])
def test_a_cut_answer_is_one_that_a_client_notices(
    host: CodeHost, web: httpx.Client, chunked: bool
) -> None:
    host.chunked = chunked
    for cut in (0, 100):
        host.faults.append(Fault("legacy.zip", cut=cut))
        with pytest.raises(httpx.RemoteProtocolError):
            web.get(f"{host.url}/codeload/acme/kit/legacy.zip/main")
    assert web.get(f"{host.url}/codeload/acme/kit/legacy.zip/main").status_code == 200


@pytest.fixture
def proxy(host: CodeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(host, tmp_path / "tls", user="somebody", password="made-up") as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        yield running


def test_github_itself_is_the_code_host_behind_the_proxy(
    upstream: Repository, host: CodeHost, proxy: Proxy
) -> None:
    host.token = TOKEN
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client() as web:
        base = "https://api.github.com/repos/acme/kit"
        assert web.get(f"{base}/commits/main", headers=headers | SHA).text == upstream.head()
        place = web.get(f"{base}/zipball/main", headers=headers).headers["location"]
        assert place == "https://codeload.github.com/acme/kit/legacy.zip/main"
        whole = web.get(place).content
        host.chunked = True
        assert web.get(place).content == whole
        assert zipfile.is_zipfile(io.BytesIO(whole))
        host.rename("acme/kit", "evil/kit")
        moved = web.get(f"{base}/commits/main")
        assert moved.json()["url"] == moved.headers["location"]
        assert moved.headers["location"] == "https://api.github.com/repositories/1000/commits/main"
    assert proxy.connects == ["api.github.com:443", "codeload.github.com:443"]
    assert (proxy.refused, host.leaks) == (0, [])


@pytest.mark.parametrize("chunked", [False, True])
def test_a_cut_passes_through_the_proxy(host: CodeHost, proxy: Proxy, chunked: bool) -> None:
    host.chunked = chunked
    host.faults += [Fault("legacy.zip", cut=100), Fault("legacy.zip", drop=True)]
    with httpx.Client() as web:
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                web.get("https://codeload.github.com/acme/kit/legacy.zip/main")
        assert web.get("https://codeload.github.com/acme/kit/legacy.zip/main").status_code == 200
    assert len(proxy.connects) == 3


def test_the_proxy_lets_nobody_else_in_and_nowhere_else(
    host: CodeHost, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with httpx.Client() as web, pytest.raises(httpx.ProxyError, match="403"):
        web.get("https://example.com/")
    stranger = proxy.url.replace("made-up", "wrong")
    with httpx.Client(proxy=stranger) as web, pytest.raises(httpx.ProxyError, match="407"):
        web.get("https://api.github.com/")
    monkeypatch.delenv("SSL_CERT_FILE")
    with httpx.Client() as web, pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
        web.get("https://api.github.com/")
    assert (proxy.refused, host.requests) == (1, [])


def test_skillctl_syncs_from_github_through_the_proxy(
    upstream: Repository,
    host: CodeHost,
    proxy: Proxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: Capture,
) -> None:
    text = "---\nname: a\ndescription: Does a.\n---\nDo it.\n"
    commit = upstream.commit({"a/SKILL.md": text, "LICENSE": "MIT\n"})
    host.token = TOKEN
    host.remove("acme/kit")
    host.add("acme/kit", upstream, private=True)
    monkeypatch.delenv("GH_TOKEN", raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    root = tmp_path / "skills"
    root.mkdir()
    (root / "manifest.yaml").write_text(
        "sources:\n  kit: {repo: 'https://github.com/acme/kit', ref: main}\n"
        "skills:\n  - {name: a, source: kit, path: a, agents: [x]}\n"
    )
    run = Run(capsysbinary, "vendor", "sync", "--dir", root)
    assert (run.code, run.err) == (0, "")
    assert commit in (root / "manifest.yaml").read_text()
    assert (root / "a/bin").read_bytes() == BINARY
    assert proxy.connects == ["api.github.com:443", "codeload.github.com:443"]
    assert (host.leaks, DOWNLOAD_TOKEN in run.out) == ([], False)
