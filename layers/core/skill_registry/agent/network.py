"""Connections as the environment wants them: through its proxies, with its certificates."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


@contextmanager
def settings_understood() -> Iterator[None]:
    """Make clients of httpx in the block, which read the environment for it.

    Raises:
        RequestInvalid: ``environment_invalid``: a proxy or certificates that cannot be used; it
            names the variables, and never what a proxy's holds, which may be a password.
    """
    try:
        yield
    except ImportError as missing:
        # httpx has SOCKS as an extra of its own.
        raise _refused("a SOCKS proxy needs the package socksio", _PROXIES) from missing
    except (ValueError, httpx.InvalidURL):
        # The text of the failure would show a password in the address of a proxy.
        raise _refused("the address of a proxy is none", _PROXIES) from None
    except OSError as failure:
        why = failure.strerror or str(failure)
        raise _refused(f"the certificates: {why[:1].lower()}{why[1:]}", _CERTIFICATES) from failure


def _refused(why: str, names: Sequence[str]) -> RequestInvalid:
    there = [each for each in names if os.environ.get(each) or os.environ.get(each.lower())]
    # Some systems keep proxies elsewhere than in variables.
    where = ", ".join(there or names)
    message = f"The settings of the network cannot be used: {why}. Look at {where}."
    return RequestInvalid(message, code="environment_invalid")
