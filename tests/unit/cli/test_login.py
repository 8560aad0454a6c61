"""login, logout and profile, as they are typed: what is kept, what is shown, how a run ends."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Fault, Loopback

from skill_registry_cli.config_file import load

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[3]
SECRET = "made-up-token-1"
REFUSED = json.dumps({"status": 401, "code": "unauthenticated", "detail": "Who are you?"}).encode()


@pytest.fixture(autouse=True)
def registry(config: Path) -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "config.toml"
    monkeypatch.setenv("SKILLCTL_CONFIG", str(path))
    monkeypatch.delenv("SKILL_REGISTRY_URL", raising=False)
    return path


def type_in(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))


def bearer(registry: Loopback) -> list[str | None]:
    return [dict(each.headers).get("authorization") for each in registry.requests]


def test_a_login_asks_once_keeps_the_profile_and_uses_it(
    registry: Loopback, config: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    type_in(monkeypatch, f"{SECRET}\n".encode())
    run = Run(capsysbinary, "login", registry.url + "/", "--profile", "here", "--token-stdin")
    assert (run.code, run.err) == (0, "")
    assert run.out == f"Kept profile here: {registry.url}, bearer token. It is the one in use.\n"
    assert registry.seen() == ["GET /skills"]
    assert load(config).profile("here").token == SECRET
    assert Run(capsysbinary, "list", "--json").code == 0
    assert bearer(registry) == [f"Bearer {SECRET}"] * 2


def test_what_the_registry_refuses_is_not_kept(
    registry: Loopback, config: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    registry.faults.append(Fault("GET /skills", 401, body=REFUSED))
    type_in(monkeypatch, SECRET.encode())
    run = Run(capsysbinary, "login", registry.url, "--token-stdin")
    assert (run.code, run.err.partition(":")[0]) == (1, "unauthenticated")
    assert not config.exists()
    with Loopback() as gone:
        url = gone.url
    assert Run(capsysbinary, "login", url, "--json").document()["code"] == "registry_unreachable"
    assert not config.exists()
    assert Run(capsysbinary, "login", url, "--no-check").code == 0
    assert load(config).default == url.removeprefix("http://")


def test_a_dry_run_asks_and_keeps_nothing(
    registry: Loopback, config: Path, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "login", registry.url, "--dry-run", "--json")
    document = run.document()
    assert (run.code, document["dry_run"], document["checked"]) == (0, True, True)
    assert registry.seen() == ["GET /skills"]
    assert not config.parent.exists()
    for name in ("a", "b"):
        Run(capsysbinary, "login", registry.url, "--profile", name)
    before = config.read_bytes()
    assert Run(capsysbinary, "profile", "use", "a", "--dry-run").code == 0
    assert Run(capsysbinary, "logout", "a", "--dry-run").out.startswith("Would forget profile a")
    assert Run(capsysbinary, "profile", "use", "x", "--dry-run").code == 2
    assert config.read_bytes() == before


def test_without_a_terminal_nobody_is_asked_for_a_token(
    registry: Loopback, config: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    type_in(monkeypatch, SECRET.encode())
    assert Run(capsysbinary, "login", registry.url, "--profile", "p").code == 0
    assert load(config).profile("p").shown()["auth"] == "none"
    assert bearer(registry) == [None]


@pytest.mark.parametrize(("typed", "auth"), [(SECRET, "token"), ("", "none")])
def test_on_a_terminal_a_token_is_asked_for_and_not_shown(
    typed: str, auth: str, registry: Loopback, config: Path
) -> None:
    master, slave = pty.openpty()
    paths = [str(PROJECT / "layers/core"), str(PROJECT / "scripts")]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "skill_registry_cli", "login", registry.url],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Without a terminal of its own but this one.
        start_new_session=True,
    )
    assert process.stderr is not None
    asked = process.stderr.read(len("Bearer token (empty: no authentication): "))
    os.write(master, typed.encode() + b"\n")
    out, err = process.communicate(timeout=60)
    os.set_blocking(master, False)
    echoed = os.read(master, 1000) if _readable(master) else b""
    os.close(slave)
    os.close(master)
    assert asked.startswith(b"Bearer token")
    assert process.returncode == 0
    assert SECRET.encode() not in out + err + echoed
    (profile,) = load(config).profiles.values()
    assert (profile.auth, profile.token) == (auth, typed or None)


def _readable(descriptor: int) -> bool:
    import select

    return bool(select.select([descriptor], [], [], 0)[0])


def test_a_registry_is_named_by_its_host_and_another_of_that_host_not_replaced(
    config: Path, capsysbinary: Capture
) -> None:
    assert Run(capsysbinary, "login", "https://r.example.com/one", "--no-check").code == 0
    run = Run(capsysbinary, "login", "https://r.example.com/two", "--no-check", "--json")
    assert (run.code, run.document()["code"]) == (2, "profile_exists")
    assert load(config).profile("r.example.com").url == "https://r.example.com/one"
    two = ("login", "https://r.example.com/two", "--no-check", "--profile", "two")
    assert Run(capsysbinary, *two).code == 0
    assert list(load(config).profiles) == ["r.example.com", "two"]


def test_profiles_are_listed_shown_and_chosen(
    registry: Loopback, config: Path, capsysbinary: Capture
) -> None:
    for name in ("a", "b"):
        Run(capsysbinary, "login", registry.url, "--profile", name)
    iam = ("--aws-profile", "pay", "--region", "eu-west-1")
    Run(capsysbinary, "login", "https://r.example.com", "--profile", "c", "--no-check", *iam)
    assert Run(capsysbinary, "profile", "use", "a").code == 0
    listed = Run(capsysbinary, "profile", "list").out
    assert listed.splitlines() == [
        f"a\t{registry.url}\tno authentication\tdefault",
        f"b\t{registry.url}\tno authentication\t",
        "c\thttps://r.example.com\tIAM, AWS profile pay, region eu-west-1\t",
    ]
    shown = Run(capsysbinary, "profile", "show").out
    assert f"file\t{config}\nprofile\ta\n" in shown
    document = Run(capsysbinary, "profile", "show", "c", "--json").document()
    assert document == {
        "file": str(config),
        "default": "a",
        "profile": {
            "name": "c",
            "url": "https://r.example.com",
            "auth": "iam",
            "aws_profile": "pay",
            "region": "eu-west-1",
        },
    }
    other = Run(capsysbinary, "--profile", "b", "profile", "show", "--json").document()
    assert other["profile"]["name"] == "b"
    names = Run(capsysbinary, "profile", "list", "--json").document()["profiles"]
    assert [(each["name"], each["default"]) for each in names] == [
        *(("a", True), ("b", False), ("c", False)),
    ]


def test_a_logout_forgets_the_profile_in_use_or_the_one_that_is_named(
    registry: Loopback, config: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    Run(capsysbinary, "login", registry.url, "--profile", "a")
    type_in(monkeypatch, SECRET.encode())
    Run(capsysbinary, "login", registry.url, "--profile", "b", "--token-stdin")
    run = Run(capsysbinary, "logout")
    assert (run.code, run.out.startswith("Forgot profile b ")) == (0, True)
    assert SECRET not in config.read_text()
    assert Run(capsysbinary, "logout", "--json").document()["code"] == "profile_unknown"
    assert Run(capsysbinary, "logout", "b").code == 2
    assert Run(capsysbinary, "logout", "a", "--json").document()["profile"]["name"] == "a"
    assert Run(capsysbinary, "profile", "list").data == b""
    assert Run(capsysbinary, "profile", "show", "--json").document()["profile"] is None


@pytest.mark.parametrize(
    "options",
    [
        ["--iam", "--token-stdin"],
        ["--region", "eu-west-1", "--token-command", "x"],
        ["--token-stdin", "--token-command", "x"],
        ["--token-command", ""],
        ["--token-command", "a 'b"],
        ["--token-command", "no-such-program-anywhere"],
        ["--token-stdin"],
        ["--profile", "a b"],
        ["--profile", ""],
        ["--aws-profile", " "],
        ["--region", ""],
    ],
)
def test_a_login_that_cannot_be_keeps_nothing(
    options: list[str],
    registry: Loopback,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: Capture,
) -> None:
    type_in(monkeypatch, b"two words\n")
    run = Run(capsysbinary, "login", registry.url, *options)
    assert (run.code in (1, 2), run.data) == (True, b"")
    assert "Traceback" not in run.err
    assert registry.requests == []
    assert not config.exists()


@pytest.mark.parametrize("url", ["registry", "ftp://a.example", f"https://u:{SECRET}@a.example"])
def test_a_login_to_no_address_is_wrong_usage(url: str, capsysbinary: Capture) -> None:
    run = Run(capsysbinary, "login", url, "--no-check")
    assert (run.code, run.err.partition(":")[0]) == (2, "url_invalid")
    assert SECRET not in run.err


def test_a_token_is_in_no_output_of_any_command(
    registry: Loopback, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    command = f"printf {SECRET}"
    typed = [
        ["login", registry.url, "--profile", "a", "--token-stdin"],
        ["login", registry.url, "--profile", "b", "--token-command", command],
        ["profile", "list"],
        ["profile", "use", "a"],
        ["profile", "show"],
        ["profile", "show", "b"],
        ["list"],
        ["logout", "b", "--dry-run"],
        ["logout", "x"],
    ]
    seen = b""
    for arguments in typed:
        for more in ([], ["--json"]):
            type_in(monkeypatch, SECRET.encode())
            run = Run(capsysbinary, *arguments, *more)
            seen += run.data + run.err.encode()
    registry.faults += [Fault("GET /skills", 401, body=REFUSED)] * 2
    seen += Run(capsysbinary, "list").err.encode()
    seen += Run(capsysbinary, "--profile", "b", "list").err.encode()
    assert f"Bearer {SECRET}" in bearer(registry)
    assert b"printed by printf" in seen
    assert SECRET.encode() not in seen


@pytest.mark.parametrize(
    "arguments", [["list"], ["login", "http://a.example"], ["profile", "show"]]
)
def test_a_broken_config_is_told_by_what_needs_it(
    arguments: list[str], config: Path, registry: Loopback, capsysbinary: Capture
) -> None:
    config.parent.mkdir()
    config.write_text(f"token {SECRET}")
    run = Run(capsysbinary, *arguments)
    assert (run.code, run.err.partition(":")[0]) == (2, "config_invalid")
    assert str(config) in run.err
    assert SECRET not in run.err
    assert Run(capsysbinary, *arguments, "--json").document()["code"] == "config_invalid"
    assert config.read_text() == f"token {SECRET}"


def test_a_broken_config_is_in_nobodys_way_else(
    config: Path, registry: Loopback, tmp_path: Path, capsysbinary: Capture
) -> None:
    config.parent.mkdir()
    config.write_text("broken")
    (tmp_path / "SKILL.md").write_text("---\nname: notes\ndescription: Does it.\n---\nx\n")
    assert Run(capsysbinary, "validate", tmp_path).err.count("config_invalid") == 0
    assert Run(capsysbinary, "profile", "show", "--help").code == 0
    assert Run(capsysbinary, "--version").code == 0
    assert Run(capsysbinary, "--url", registry.url, "list").code == 0


def test_a_folder_that_cannot_be_written_is_told(
    registry: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SKILLCTL_CONFIG", str(tmp_path / "file" / "below" / "config.toml"))
    run = Run(capsysbinary, "login", registry.url, "--json")
    assert (run.code, run.document()["code"][:7]) == (2, "config_")


def test_a_login_says_what_will_come_before_its_profile(
    registry: Loopback, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    monkeypatch.setenv("SKILL_REGISTRY_PROFILE", "other")
    run = Run(capsysbinary, "login", registry.url, "--profile", "mine")
    assert "SKILL_REGISTRY_PROFILE comes before" in run.err
    monkeypatch.setenv("SKILL_REGISTRY_URL", registry.url)
    assert "SKILL_REGISTRY_URL comes before" in Run(capsysbinary, "profile", "use", "mine").err
    type_in(monkeypatch, SECRET.encode())
    clear = ("login", "http://r.example.com", "--token-stdin", "--no-check", "--profile", "clear")
    assert "use https" in Run(capsysbinary, *clear).err
