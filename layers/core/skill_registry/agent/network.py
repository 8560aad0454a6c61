"""Connections as the environment wants them: through its proxies, with its certificates."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from skill_registry.errors import RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def settings_understood() -> Iterator[None]:
    """Make clients of httpx in the block, which read the environment for it.

    Raises:
        RequestInvalid: ``environment_invalid``: a proxy or certificates that cannot be used.
    """
    try:
        yield
    except ImportError as missing:
        # httpx has SOCKS as an extra of its own.
        raise _refused("a SOCKS proxy needs the package socksio") from missing
    except (ValueError, httpx.InvalidURL) as odd:
        # The text of the failure would show a password in the address of a proxy.
        raise _refused("the address of a proxy is none") from odd
    except OSError as failure:
        why = failure.strerror or str(failure)
        raise _refused(f"the certificates: {why[:1].lower()}{why[1:]}") from failure


def _refused(why: str) -> RequestInvalid:
    names = "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
    message = f"The settings of the network cannot be used: {why}. They are {names}."
    return RequestInvalid(message, code="environment_invalid")
