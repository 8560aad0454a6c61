"""Connections with settings of the network that cannot be used: refused by their names."""

from __future__ import annotations

import traceback

import pytest

from skill_registry.agent.connection import AsyncConnection, Connection
from skill_registry.errors import RequestInvalid


@pytest.mark.parametrize("kind", [Connection, AsyncConnection])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:9"),
        ("HTTPS_PROXY", "made-up://somebody:secret@127.0.0.1"),
        ("https_proxy", "http://somebody:secret@[::1"),
        ("HTTP_PROXY", "http://somebody:secret@127.0.0.1:port"),
        ("NO_PROXY", "[::1"),
        ("SSL_CERT_FILE", "/nowhere/at/all"),
    ],
)
def test_no_connection_is_made_with_settings_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Connection | AsyncConnection],
    name: str,
    value: str,
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(RequestInvalid) as refused:
        kind("http://127.0.0.1:9")
    assert refused.value.code == "environment_invalid"
    assert name.upper() in refused.value.message.partition("Look at ")[2]
    # Also not in the traceback of an agent's log.
    assert "secret" not in "".join(traceback.format_exception(refused.value))
