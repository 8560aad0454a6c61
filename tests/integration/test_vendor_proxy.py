"""A sync from GitHub as manifests name it: by TLS, through a proxy with an authority of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from code_host import CodeHost
from code_host_proxy import Certificates, Proxy
from git_repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
TOKEN = "made-up-token-of-a-test"
SKILL = "---\nname: alpha\ndescription: Does alpha.\n---\nDo it.\n"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[CodeHost]:
    repository = Repository(tmp_path / "upstream")
    repository.commit({"LICENSE": "MIT\n", "skills/alpha/SKILL.md": SKILL})
    with CodeHost() as running:
        running.token = TOKEN
        running.add("acme/kit", repository, private=True)
        yield running


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    root.mkdir()
    (root / "manifest.yaml").write_text(
        "sources:\n  kit:\n    repo: https://github.com/acme/kit\n    ref: main\n"
        "skills:\n  - {name: alpha, source: kit, path: skills/alpha, agents: [x]}\n"
    )
    return root


def sync(skills: Path, proxy: Proxy, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "SKILL_REGISTRY_VENVS": str(PROJECT / ".venvs"),
        "GITHUB_TOKEN": TOKEN,
        **proxy.environment(),
        **more,
    }
    return subprocess.run(
        [PROJECT / "scripts" / "skillctl", "vendor", "sync", "--dir", skills],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_github_is_reached_through_the_proxy_of_the_environment(
    host: CodeHost, skills: Path, tmp_path: Path
) -> None:
    with Proxy(host, tmp_path / "tls") as proxy:
        done = sync(skills, proxy)
        assert done.returncode == 0, done.stderr
        assert set(proxy.connects) == {"api.github.com:443", "codeload.github.com:443"}
    assert done.stdout.splitlines()[1:] == ["alpha: added", "vendor check: ok"]
    assert host.leaks == []
    text = (skills / "alpha/SKILL.md").read_text()
    assert "source: https://github.com/acme/kit/blob/" in text
    assert TOKEN not in text + done.stdout + done.stderr


def test_a_proxy_that_wants_a_user_gets_the_one_of_its_address(
    host: CodeHost, skills: Path, tmp_path: Path
) -> None:
    with Proxy(host, tmp_path / "tls", user="somebody", password="made-up") as proxy:
        assert sync(skills, proxy).returncode == 0
        address = proxy.url.replace("somebody:made-up@", "")
        (skills / "alpha/SKILL.md").unlink()
        done = sync(skills, proxy, HTTPS_PROXY=address, https_proxy=address)
    assert (done.returncode, proxy.refused > 0) == (1, True)
    assert done.stderr.startswith("upstream_unreachable: ")


def test_a_host_with_the_certificate_of_a_stranger_is_not_trusted(
    host: CodeHost, skills: Path, tmp_path: Path
) -> None:
    stranger = Certificates(tmp_path / "stranger")
    with Proxy(host, tmp_path / "tls") as proxy:
        done = sync(skills, proxy, SSL_CERT_FILE=str(stranger.authority))
    assert done.returncode == 1
    assert done.stderr.startswith("upstream_unreachable: ")
    assert host.requests == []
    assert not (skills / "alpha").exists()
