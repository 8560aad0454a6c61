"""A sync from a code host that refuses, fails, moves, cuts and lies: told, and nothing changes."""

from __future__ import annotations

import io
import logging
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from code_host import CodeHost, Fault
from command_line import Capture, Run
from git_repositories import Repository
from mounts import tree as snapshot

from skill_registry_cli.vendor import tokens
from skill_registry_cli.vendoring.github import GitHub, Token
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.repositories import AllowedHosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN = "made-up-token-of-a-test"
SKILL = "---\nname: alpha\ndescription: Does alpha.\n---\nDo it.\n"


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "upstream")
    repository.commit({"LICENSE": "MIT\n", "alpha/SKILL.md": SKILL, "alpha/a.md": "a\n" * 5000})
    return repository


@pytest.fixture
def host(upstream: Repository) -> Iterator[CodeHost]:
    with CodeHost() as running:
        running.add("acme/kit", upstream)
        yield running


@pytest.fixture
def skills(host: CodeHost, tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    root.mkdir()
    write(root, f"{host.url}/acme/kit")
    return root


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def write(root: Path, repo: str) -> None:
    (root / "manifest.yaml").write_text(
        f"sources:\n  kit: {{repo: '{repo}', ref: main}}\n"
        "skills:\n  - {name: alpha, source: kit, path: alpha, agents: [x]}\n"
    )


def sync(root: Path, host: CodeHost, capture: Capture) -> Run:
    return Run(capture, "vendor", "sync", "--dir", root, "--allow", host.url, "--json")


def refused(root: Path, host: CodeHost, capture: Capture) -> tuple[str, str]:
    """Return code and sentence of a refusal that changed nothing."""
    before = snapshot(root)
    run = sync(root, host, capture)
    assert (run.code, run.err) == (1, "")
    assert snapshot(root) == before
    document = run.document()
    return document["code"], document["detail"]


def test_a_repository_that_is_gone_is_told(
    skills: Path, host: CodeHost, capsysbinary: Capture
) -> None:
    host.remove("acme/kit")
    code, detail = refused(skills, host, capsysbinary)
    assert (code, "acme/kit" in detail, "without a token" in detail) == (
        "upstream_not_found",
        True,
        True,
    )


def test_a_repository_that_moved_is_not_followed(
    skills: Path, host: CodeHost, capsysbinary: Capture
) -> None:
    host.rename("acme/kit", "evil/kit")
    code, detail = refused(skills, host, capsysbinary)
    assert (code, "another address now" in detail) == ("upstream_moved", True)
    assert len(host.requests) == 1


def test_a_private_repository_needs_the_token_which_goes_to_the_api_alone(
    skills: Path,
    host: CodeHost,
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    host.token = TOKEN
    host.remove("acme/kit")
    host.add("acme/kit", Repository(skills.parent / "upstream"), private=True)
    assert refused(skills, host, capsysbinary)[0] == "upstream_not_found"
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    assert refused(skills, host, capsysbinary)[0] == "upstream_not_found"
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", TOKEN)
    run = sync(skills, host, capsysbinary)
    assert (run.code, host.leaks) == (0, [])
    assert TOKEN not in run.out + run.err + caplog.text


@pytest.mark.parametrize("name", ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"])
def test_a_token_that_is_not_accepted_is_named_by_its_variable(
    skills: Path,
    host: CodeHost,
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    host.token = TOKEN
    monkeypatch.setenv(name, "another-made-up-token")
    code, detail = refused(skills, host, capsysbinary)
    assert code == "upstream_refused"
    assert f"does not take the token in {name}." in detail
    assert "another-made-up-token" not in detail


def test_a_header_that_cannot_be_sent_is_not_shown(host: CodeHost) -> None:
    allowed = AllowedHosts.named((host.url,))
    repository = allowed.repository(f"{host.url}/acme/kit")
    assert repository is not None
    token = Token("GH_ENTERPRISE_TOKEN", "made\nsecret")
    with GitHub({host.url: token}) as github, pytest.raises(VendoringRefused) as refusal:
        github.resolve(repository, "main")
    assert refusal.value.code == "upstream_unreachable"
    assert "secret" not in f"{refusal.value} {refusal.value.__cause__} {token}"
    assert "made" not in refusal.value.message


@pytest.mark.parametrize("margin", ["\n", " ", "\r\n"])
def test_a_line_end_behind_a_token_is_no_part_of_it(
    skills: Path,
    host: CodeHost,
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    margin: str,
) -> None:
    host.token = TOKEN
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", f"{TOKEN}{margin}")
    assert sync(skills, host, capsysbinary).code == 0


@pytest.mark.parametrize("name", ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN"])
@pytest.mark.parametrize("token", ["made up\nsecret", "s\u00e9cret", "se cret"])
def test_what_cannot_be_a_token_is_refused_by_the_name_of_its_variable(
    skills: Path,
    host: CodeHost,
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    token: str,
) -> None:
    monkeypatch.setenv(name, token)
    run = sync(skills, host, capsysbinary)
    assert (run.code, run.document()["code"]) == (2, "token_invalid")
    assert name in run.document()["detail"]
    assert "cret" not in run.out + run.err
    assert host.requests == []


def test_a_token_is_for_its_own_hosts_and_never_goes_in_the_clear() -> None:
    environment = {"GITHUB_TOKEN": "one", "GH_ENTERPRISE_TOKEN": "two"}
    hosts = AllowedHosts.named(("git.example.com", "http://git.example.org", "file"))
    assert tokens(hosts, environment) == {
        "https://github.com": Token("GITHUB_TOKEN", "one"),
        "https://git.example.com": Token("GH_ENTERPRISE_TOKEN", "two"),
    }
    for blank in ("", " \n"):
        held = {"GH_TOKEN": blank, "GITHUB_TOKEN": "x"}
        assert tokens(hosts, held) == {"https://github.com": Token("GITHUB_TOKEN", "x")}
    both = {"GITHUB_TOKEN": "later", "GH_TOKEN": "first"}
    assert tokens(hosts, both) == {"https://github.com": Token("GH_TOKEN", "first")}


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000"}, "until 22:13 UTC"),
        (429, {"retry-after": "3600"}, "for 3600 seconds"),
        (403, {"retry-after": "60"}, "for 60 seconds"),
        (429, {}, "no more requests. A token in GH_ENTERPRISE_TOKEN"),
    ],
)
def test_a_rate_limit_is_told_with_its_end(
    skills: Path,
    host: CodeHost,
    capsysbinary: Capture,
    status: int,
    headers: dict[str, str],
    told: str,
) -> None:
    host.faults.append(Fault("commits", status, headers))
    code, detail = refused(skills, host, capsysbinary)
    assert (code, told in detail) == ("rate_limited", True)


@pytest.mark.parametrize("match", ["commits", "zipball", "legacy.zip"])
def test_a_secondary_rate_limit_is_known_by_its_words(
    skills: Path, host: CodeHost, capsysbinary: Capture, match: str
) -> None:
    text = '{"message": "You have exceeded a secondary rate limit."}'
    host.faults.append(Fault(match, 403, body=text))
    assert refused(skills, host, capsysbinary)[0] == "rate_limited"


def test_who_shows_a_token_is_not_advised_to_show_one(
    skills: Path, host: CodeHost, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.token = TOKEN
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", TOKEN)
    host.faults.append(Fault("commits", 429))
    code, detail = refused(skills, host, capsysbinary)
    assert (code, "token" in detail.lower()) == ("rate_limited", False)


def test_a_download_has_no_name_that_a_kill_could_leave_behind(
    skills: Path,
    host: CodeHost,
    capsysbinary: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    found: list[list[Path]] = []
    host.faults.append(Fault("legacy.zip", before=lambda: found.append(list(folder.iterdir()))))
    assert sync(skills, host, capsysbinary).code == 0
    assert found == [[]]


@pytest.mark.parametrize(
    ("match", "status", "code"),
    [
        ("commits", 401, "upstream_refused"),
        ("commits", 403, "upstream_refused"),
        ("commits", 400, "upstream_unreachable"),
        ("zipball", 404, "upstream_not_found"),
        ("zipball", 200, "upstream_unreachable"),
        ("legacy.zip", 403, "upstream_refused"),
        ("legacy.zip", 404, "upstream_not_found"),
        ("legacy.zip", 302, "upstream_moved"),
    ],
)
def test_a_refusal_at_any_request_has_its_code(
    skills: Path, host: CodeHost, capsysbinary: Capture, match: str, status: int, code: str
) -> None:
    host.faults.append(Fault(match, status))
    assert refused(skills, host, capsysbinary)[0] == code


@pytest.mark.parametrize("match", ["commits", "zipball", "legacy.zip"])
def test_what_passes_with_time_is_asked_again(
    skills: Path, host: CodeHost, capsysbinary: Capture, match: str
) -> None:
    host.faults += [Fault(match, 503), Fault(match, 502)]
    assert sync(skills, host, capsysbinary).code == 0


def test_a_download_that_was_cut_is_made_again(
    skills: Path, host: CodeHost, capsysbinary: Capture
) -> None:
    host.faults.append(Fault("legacy.zip", cut=100))
    assert sync(skills, host, capsysbinary).code == 0
    host.faults.append(Fault("legacy.zip", cut=100, times=10))
    (skills / "alpha/a.md").unlink()
    assert refused(skills, host, capsysbinary)[0] == "upstream_unreachable"


def rezipped(data: bytes, *more: tuple[str, bytes], comment: bytes | None = None) -> bytes:
    """Return an archive with further entries, or another comment."""
    target = io.BytesIO(data)
    with zipfile.ZipFile(target, "a") as archive:
        for name, content in more:
            archive.writestr(zipfile.ZipInfo(name), content)
        if comment is not None:
            archive.comment = comment
    return target.getvalue()


@pytest.mark.parametrize(
    "path", ["../escape", "top/../../escape", "/etc/escape", "C:/escape", "top\\..\\..\\escape"]
)
def test_an_archive_with_a_path_that_leads_out_is_refused_whole(
    skills: Path, host: CodeHost, capsysbinary: Capture, path: str
) -> None:
    host.faults.append(Fault("legacy.zip", transform=lambda data: rezipped(data, (path, b"x"))))
    assert refused(skills, host, capsysbinary)[0] == "archive_unsafe"
    assert not list(skills.parent.rglob("escape"))


@pytest.mark.parametrize(
    "transform",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"not a zip",
        lambda data: b"",
        lambda data: data.replace(b"PK\x03\x04", b"PK\x03\x05"),
        lambda data: rezipped(data, ("beside", b"x")),
        lambda data: rezipped(data, ("other/SKILL.md", b"x")),
        lambda data: rezipped(data, comment=b"c" * 40),
    ],
)
def test_an_archive_that_is_damaged_or_of_another_commit_is_refused(
    skills: Path, host: CodeHost, capsysbinary: Capture, transform: Callable[[bytes], bytes]
) -> None:
    host.faults.append(Fault("legacy.zip", transform=transform))
    assert refused(skills, host, capsysbinary)[0] == "archive_invalid"


@pytest.mark.parametrize("place", ["", "ftp://127.0.0.1/x", "/relative", "https://[", "file:///x"])
def test_an_archive_elsewhere_than_on_the_web_is_not_fetched(
    skills: Path, host: CodeHost, capsysbinary: Capture, place: str
) -> None:
    host.faults.append(Fault("zipball", 302, {"Location": place}))
    assert refused(skills, host, capsysbinary)[0] == "upstream_unreachable"


def test_a_host_that_answers_with_no_commit_is_none(
    skills: Path, host: CodeHost, capsysbinary: Capture
) -> None:
    for body in (b"main", b"<html>", b"A" * 40, b""):
        host.faults.append(Fault("commits", 200, body=body))
        assert refused(skills, host, capsysbinary)[0] == "upstream_unreachable"


def test_a_host_that_does_not_answer_is_told(
    skills: Path, host: CodeHost, capsysbinary: Capture
) -> None:
    write(skills, "http://127.0.0.1:9/acme/kit")
    before = snapshot(skills)
    run = Run(
        capsysbinary, "vendor", "sync", "--dir", skills, "--allow", "http://127.0.0.1:9", "--json"
    )
    assert (run.code, run.document()["code"]) == (1, "upstream_unreachable")
    assert snapshot(skills) == before


def test_a_host_that_is_not_allowed_is_not_asked(
    skills: Path, host: CodeHost, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "vendor", "sync", "--dir", skills, "--json")
    assert (run.code, run.document()["code"]) == (1, "repository_invalid")
    assert host.requests == []


def test_hosts_may_be_allowed_by_the_environment(
    skills: Path, host: CodeHost, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_VENDOR_HOSTS", f"git.example.com {host.url}")
    assert Run(capsysbinary, "vendor", "sync", "--dir", skills).code == 0
    assert Run(capsysbinary, "vendor", "check", "--dir", skills).code == 0
