"""The config file: what it may say, who may read it, and that it is whole at every moment."""

from __future__ import annotations

import os
import stat
import threading
import tomllib
from functools import partial
from pathlib import Path

import pytest

from skill_registry.errors import RequestInvalid
from skill_registry_cli.config_file import change, config_path, load
from skill_registry_cli.profiles import Auth, Config, Profile, read

SECRET = "made-up-token-1"
PROFILES = [
    Profile("plain", "http://127.0.0.1:8080"),
    Profile("signed", "https://r.example.com/prod", Auth.IAM, "payments", "eu-central-1"),
    Profile("bare", "https://r.example.com", Auth.IAM),
    Profile("kept", "https://r.example.com", Auth.TOKEN, token=SECRET),
    Profile("printed", "https://r.example.com", Auth.TOKEN, token_command="vault 'read it'"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "config.toml"


def keep(path: Path, *profiles: Profile) -> Config:
    for profile in profiles:
        change(path, partial(Config.including, profile=profile))
    return load(path)


def code_of(path: Path) -> tuple[str, str]:
    with pytest.raises(RequestInvalid) as caught:
        load(path)
    return caught.value.code, caught.value.message


def test_every_kind_of_profile_is_read_as_it_was_kept(path: Path) -> None:
    config = keep(path, *PROFILES)
    assert list(config.profiles.values()) == PROFILES
    assert config.default == "printed"


def test_no_file_is_no_configuration(path: Path) -> None:
    assert load(path) == Config()
    assert not path.parent.exists()


def test_the_file_is_its_owners_alone_also_where_it_was_not(path: Path) -> None:
    keep(path, PROFILES[0])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    keep(path, PROFILES[3])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_members_that_are_not_known_are_kept(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('later = 1\n[profiles.old]\nurl = "http://a.example"\nmore = [1, 2]\n')
    keep(path, PROFILES[0])
    document = tomllib.loads(path.read_text())
    assert (document["later"], document["profiles"]["old"]["more"]) == (1, [1, 2])
    assert load(path).profile("old") == Profile("old", "http://a.example")


def test_a_profile_that_goes_is_no_longer_in_the_file_nor_in_use(path: Path) -> None:
    keep(path, PROFILES[0], PROFILES[3])
    config = change(path, lambda config: config.without("kept"))
    assert (config.default, list(config.profiles)) == (None, ["plain"])
    assert SECRET not in path.read_text()
    assert change(path, lambda config: config.using("plain")).default == "plain"


@pytest.mark.parametrize("edit", [lambda c: c.without("x"), lambda c: c.using("x")])
def test_what_is_no_profile_is_refused_and_the_file_stays(path: Path, edit: object) -> None:
    keep(path, PROFILES[0])
    before = path.read_bytes()
    with pytest.raises(RequestInvalid) as caught:
        change(path, edit)  # type: ignore[arg-type]
    assert caught.value.code == "profile_unknown"
    assert "plain" in caught.value.message
    assert path.read_bytes() == before


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(path, PROFILES[0])
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RequestInvalid) as caught:
        change(path, lambda config: config.including(PROFILES[3]))
    assert caught.value.code == "config_unwritable"
    assert "No space left" in caught.value.message
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_text_that_no_file_can_hold_is_refused_and_the_file_stays(path: Path) -> None:
    keep(path, PROFILES[0])
    before = path.read_bytes()
    odd = Profile("odd", "http://a.example", Auth.IAM, aws_profile="\udcff")
    with pytest.raises(RequestInvalid) as caught:
        change(path, lambda config: config.including(odd))
    assert caught.value.code == "config_invalid"
    assert path.read_bytes() == before


def test_changes_at_one_time_are_all_kept(path: Path) -> None:
    names = [f"p{number}" for number in range(12)]
    threads = [
        threading.Thread(target=keep, args=(path, Profile(name, "http://a.example")))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(load(path).profiles) == sorted(names)


def test_a_link_stays_one_and_what_it_leads_to_is_written(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    path.symlink_to(real)
    keep(path, PROFILES[0])
    assert path.is_symlink()
    assert load(real).default == "plain"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestInvalid) as caught:
        change(tmp_path / "file" / "config.toml", lambda config: config)
    assert caught.value.code == "config_unwritable"


@pytest.mark.parametrize(
    "text",
    [
        f"token = {SECRET}",
        f"{SECRET}",
        f'"{SECRET}',
        f"[profiles.p]\nurl = 'http://a.example'\ntoken = '{SECRET}",
        "default = 1",
        "profiles = 1",
        "[profiles]\np = 1",
        "[profiles.p]\nauth = 'none'",
        f"[profiles.p]\nurl = 'http://u:{SECRET}@a.example'",
        f"[profiles.p]\nurl = 'http://a.example'\nauth = '{SECRET}'",
        "[profiles.p]\nurl = 'http://a.example'\nauth = 'token'",
        "[profiles.p]\nurl = 'http://a.example'\nauth = 'token'\ntoken = ' '",
        "[profiles.p]\nurl = 'http://a.example'\nauth = 'token'\ntoken = 5",
        f"[profiles.p]\nurl = 'http://a.example'\nauth = 'iam'\ntoken = '{SECRET}'",
        f"[profiles.p]\nurl = 'http://a.example'\ntoken = '{SECRET}'",
        f"[profiles.p]\nurl='http://a.example'\nauth='token'\ntoken='{SECRET}'\ntoken_command='x'",
        "[profiles.p]\nurl = 'http://a.example'\nauth = 'token'\ntoken_command = 'a \"b'",
        "a = " + "[" * 5000,
        "a = '" + "x" * 1024 * 1024 + "'",
        "\x00",
    ],
)
def test_a_broken_file_is_refused_and_never_quoted(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    code, message = code_of(path)
    assert code == "config_invalid"
    assert str(path) in message
    assert SECRET not in message
    with pytest.raises(RequestInvalid):
        change(path, lambda config: config.including(PROFILES[0]))
    assert path.read_text() == text


def test_bytes_that_are_no_text_and_what_is_no_file_are_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"a = '\xff'")
    assert code_of(path)[0] == "config_invalid"
    assert code_of(path.parent)[0] == "config_invalid"
    os.mkfifo(path.parent / "pipe")
    assert code_of(path.parent / "pipe")[0] == "config_invalid"


def test_the_place_of_a_mistake_is_told(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("default = 'a'\nprofiles.b = \n")
    assert "line 2, column" in code_of(path)[1]


def test_no_repr_has_a_token_in_it() -> None:
    command = f"print {SECRET}"
    profiles = [
        Profile("a", "http://a.example", Auth.TOKEN, token=SECRET),
        Profile("b", "http://a.example", Auth.TOKEN, token_command=command),
    ]
    config = read({"profiles": {each.name: each.to_dict() for each in profiles}})
    assert SECRET not in repr((profiles, config))
    assert SECRET not in repr([each.shown() for each in profiles])
    assert [each.shown()["token_from"] for each in profiles] == ["file", "command"]


def test_the_file_is_in_the_users_config_folder_or_where_the_variable_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert config_path({"SKILLCTL_CONFIG": "some/file.toml"}) == Path("some/file.toml")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    assert config_path({}) == Path("/somewhere/skillctl/config.toml")
    monkeypatch.setattr("sys.platform", "darwin")
    assert config_path({}).parts[-4:] == (
        *("Library", "Application Support", "skillctl", "config.toml"),
    )
