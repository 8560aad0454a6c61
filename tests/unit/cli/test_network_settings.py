"""Proxies and certificates of the environment that cannot be used: told, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Capture, Run
from git_repositories import Repository
from synced_trees import Place, skill_md

SETTINGS = [
    ("ALL_PROXY", "socks5://127.0.0.1:9", "a SOCKS proxy"),
    ("HTTPS_PROXY", "made-up://somebody:secret@127.0.0.1", "the address of a proxy is none"),
    ("HTTPS_PROXY", "http://somebody:secret@[::1", "the address of a proxy is none"),
    ("SSL_CERT_FILE", "/nowhere/at/all", "the certificates: "),
]
NAMES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
each_setting = pytest.mark.parametrize(("name", "value", "told"), SETTINGS)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, "SSLKEYLOGFILE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@each_setting
def test_a_registry_is_not_asked_with_settings_that_cannot_be_used(
    capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    run = Run(capsysbinary, "--url", "http://127.0.0.1:9", "list")
    assert (run.code, run.out, run.err.split(":")[0]) == (2, "", "environment_invalid")
    assert told in run.err and f"Look at {name}." in run.err
    assert "secret" not in run.err


@each_setting
def test_a_code_host_is_not_asked_with_settings_that_cannot_be_used(
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    value: str,
    told: str,
) -> None:
    place = Place(tmp_path / "skills", "http://127.0.0.1:9/acme/kit", "http://127.0.0.1:9", None)
    monkeypatch.setenv(name, value)
    run = place.sync(capsysbinary)
    assert (run.code, run.out, run.err.split(":")[0]) == (2, "", "environment_invalid")
    assert told in run.err and f"Look at {name}." in run.err
    assert "secret" not in run.err


@each_setting
def test_repositories_of_this_machine_need_no_network(
    capsysbinary: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    value: str,
    told: str,
) -> None:
    upstream = Repository(tmp_path / "upstream")
    upstream.commit({"LICENSE": "MIT\n", "skills/alpha/SKILL.md": skill_md("alpha")})
    place = Place(tmp_path / "skills", upstream.url, "file", None)
    place.write("alpha")
    monkeypatch.setenv(name, value)
    run = place.sync(capsysbinary)
    assert (run.code, told in run.err) == (0, False)
