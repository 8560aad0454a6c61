"""Which registry a run asks, and that credentials go to their own address and to no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command_line import Capture, Run
from loopback import Fault, Loopback

from skill_registry.agent.problems import CredentialsFailed
from skill_registry_cli.config_file import change
from skill_registry_cli.credentials import TokenCommand
from skill_registry_cli.profiles import Auth, Profile
from skill_registry_cli.session import DEFAULT_URL, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[3]
SECRET = "made-up-token-1"
OTHER = "made-up-token-2"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("SKILLCTL_CONFIG", str(path))
    monkeypatch.delenv("SKILL_REGISTRY_URL", raising=False)
    return path


@pytest.fixture
def registries(config: Path) -> Iterator[tuple[Loopback, Loopback, Loopback]]:
    """Those of the profiles ``work`` (which is the default) and ``home``, and one without any."""
    with Loopback() as work, Loopback() as home, Loopback() as other:
        keep(config, Profile("home", home.url, Auth.TOKEN, token=OTHER))
        keep(config, Profile("work", work.url, Auth.TOKEN, token=SECRET))
        yield work, home, other


def keep(config: Path, profile: Profile) -> None:
    change(config, lambda config: config.including(profile))


def credentials_of(registry: Loopback) -> list[str | None]:
    return [dict(each.headers).get("authorization") for each in registry.requests]


URL, OPTION = "SKILL_REGISTRY_URL", "--url"
TABLE = [
    # Options, variables, which of the three is asked, and with what.
    ([], {}, 0, SECRET),
    (["--profile", "home"], {}, 1, OTHER),
    ([], {"SKILL_REGISTRY_PROFILE": "home"}, 1, OTHER),
    (["--profile", "work"], {"SKILL_REGISTRY_PROFILE": "home"}, 0, SECRET),
    ([], {"SKILL_REGISTRY_PROFILE": ""}, 0, SECRET),
    ([], {URL: "other"}, 2, None),
    ([], {URL: ""}, 0, SECRET),
    ([], {URL: "other", "SKILL_REGISTRY_PROFILE": "home"}, 2, None),
    (["--profile", "home"], {URL: "other"}, 1, OTHER),
    ([OPTION, "other"], {}, 2, None),
    ([OPTION, "other"], {URL: "nowhere"}, 2, None),
    ([OPTION, "other"], {"SKILL_REGISTRY_PROFILE": "home"}, 2, None),
    ([OPTION, "other"], {"SKILL_REGISTRY_TOKEN": "made-up-3"}, 2, "made-up-3"),
    ([], {URL: "other", "SKILL_REGISTRY_TOKEN": "made-up-3"}, 2, "made-up-3"),
    # What is in the environment does not go to a profile's address either.
    ([], {"SKILL_REGISTRY_TOKEN": "made-up-3"}, 0, SECRET),
]


@pytest.mark.parametrize(("options", "variables", "asked", "token"), TABLE)
def test_a_registry_is_chosen_and_credentials_go_to_it_alone(
    options: list[str],
    variables: dict[str, str],
    asked: int,
    token: str | None,
    registries: tuple[Loopback, Loopback, Loopback],
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: Capture,
) -> None:
    other = registries[2].url
    for name, value in variables.items():
        monkeypatch.setenv(name, other if value == "other" else value)
    run = Run(capsysbinary, *(other if each == "other" else each for each in options), "list")
    assert run.code == 0, run.err
    expected: list[list[str | None]] = [[], [], []]
    expected[asked] = [f"Bearer {token}" if token else None]
    assert [credentials_of(each) for each in registries] == expected


def test_without_anything_the_local_server_is_asked(config: Path) -> None:
    assert Session().target() == (DEFAULT_URL, None)


def test_an_address_and_a_profile_together_are_wrong_usage(
    registries: tuple[Loopback, ...], capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "--url", registries[2].url, "--profile", "home", "list", "--json")
    assert (run.code, run.document()["code"]) == (2, "usage")
    assert [each.requests for each in registries] == [[], [], []]


@pytest.mark.parametrize(("options"), [["--profile", "nobody"], []])
def test_an_unknown_profile_ends_with_2(
    options: list[str], config: Path, capsysbinary: Capture
) -> None:
    config.write_text('default = "gone"\n[profiles.here]\nurl = "http://a.example"\n')
    run = Run(capsysbinary, *options, "list")
    assert (run.code, run.data) == (2, b"")
    assert run.err.startswith("profile_unknown: ")
    assert "here" in run.err


def test_no_credential_follows_a_redirect(
    registries: tuple[Loopback, Loopback, Loopback], capsysbinary: Capture
) -> None:
    work, _, other = registries
    work.faults.append(Fault("GET /skills", 302, {"Location": f"{other.url}/skills"}))
    assert Run(capsysbinary, "list").code != 0
    assert other.requests == []


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """AWS credentials that are made up, in the environment, and a file for more."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDMADEUP")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up-secret")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "aws"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    return tmp_path / "aws"


def test_a_profile_with_iam_signs_its_requests(
    config: Path, aws: Path, capsysbinary: Capture
) -> None:
    aws.write_text("[pay]\naws_access_key_id = AKIDPAY\naws_secret_access_key = made-up-too\n")
    with Loopback() as registry:
        run = Run(capsysbinary, "login", registry.url, "--iam", "--region", "eu-west-1")
        assert (run.code, run.err) == (0, "")
        run = Run(
            capsysbinary,
            *("login", registry.url, "--aws-profile", "pay", "--region", "eu-west-1"),
        )
        assert run.code == 0
        plain, named = credentials_of(registry)
    for signature, key in ((plain, "AKIDMADEUP"), (named, "AKIDPAY")):
        assert signature is not None
        assert signature.startswith(f"AWS4-HMAC-SHA256 Credential={key}/")
        assert "/eu-west-1/execute-api/aws4_request" in signature
    assert "made-up" not in config.read_text()


def test_the_environment_of_a_ci_job_signs_for_its_address(
    config: Path, aws: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("SKILL_REGISTRY_AUTH", "iam")
    with Loopback() as registry:
        monkeypatch.setenv("SKILL_REGISTRY_URL", registry.url)
        assert Run(capsysbinary, "list").code == 0
        (signature,) = credentials_of(registry)
    assert signature is not None
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIDMADEUP/")


def test_an_aws_profile_that_is_not_there_is_told(
    config: Path, aws: Path, capsysbinary: Capture
) -> None:
    run = Run(capsysbinary, "login", "http://127.0.0.1:1", "--aws-profile", "nope")
    assert (run.code, run.err.partition(":")[0]) == (2, "credentials_failed")
    assert "nope" in run.err
    assert not config.exists()


@pytest.mark.parametrize(
    "variables",
    [
        {"SKILL_REGISTRY_AUTH": "iam", "SKILL_REGISTRY_TOKEN": SECRET},
        {"SKILL_REGISTRY_AUTH": SECRET},
        {"SKILL_REGISTRY_AUTH": "token"},
        {"SKILL_REGISTRY_TOKEN": f"{SECRET} and more"},
    ],
)
def test_an_environment_that_is_not_to_be_understood_ends_with_2(
    variables: dict[str, str],
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: Capture,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    run = Run(capsysbinary, "--url", "http://127.0.0.1:1", "list")
    assert (run.code, run.err.partition(":")[0] in ("environment_invalid", "token_invalid")) == (
        2,
        True,
    )
    assert SECRET not in run.err


def test_a_token_command_is_run_without_a_shell_and_once_for_many_requests(
    config: Path, tmp_path: Path, capsysbinary: Capture
) -> None:
    script = tmp_path / "print token.py"
    script.write_text(f"import sys; open({str(tmp_path / 'runs')!r}, 'a').write('x')\n")
    with script.open("a") as file:
        file.write("assert sys.argv[1:] == ['$HOME', ';'] and not sys.stdin.read()\n")
        file.write(f"print('{SECRET}')\n")
    command = f"{sys.executable} '{script}' '$HOME' ';'"
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: notes\ndescription: Does it.\n---\nx\n")
    with Loopback() as registry:
        keep(config, Profile("p", registry.url, Auth.TOKEN, token_command=command))
        assert Run(capsysbinary, "push", skill).code == 0
        own = [each for each in registry.requests if not each.path.startswith("/s3/")]
        sent = {dict(each.headers)["authorization"] for each in own}
        to_store = [each for each in registry.requests if each.path.startswith("/s3/")]
    assert (len(own) >= 2, sent) == (True, {f"Bearer {SECRET}"})
    assert to_store
    assert all("authorization" not in dict(each.headers) for each in to_store)
    assert (tmp_path / "runs").read_text() == "x"


@pytest.mark.parametrize("program", ["sys.exit(3)", "pass", "1/0"])
def test_a_token_command_that_fails_is_told_without_what_it_printed(
    program: str, tmp_path: Path
) -> None:
    before = f"print('{SECRET}');" if program != "pass" else ""
    command = TokenCommand(f'{sys.executable} -c "import sys; {before} {program}" 2')
    with pytest.raises(CredentialsFailed) as caught:
        command()
    assert SECRET not in caught.value.message
    assert SECRET not in repr((command, caught.value.__context__))


def test_what_needs_no_signature_does_not_load_the_signing_library(config: Path) -> None:
    program = (
        "import sys; from skill_registry_cli.main import main; main(['--help'])\n"
        "main(['profile', 'list'])\nsys.exit('botocore' in sys.modules)"
    )
    paths = [str(PROJECT / "layers/core"), str(PROJECT / "scripts")]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, b"login" in done.stdout) == (0, True)
