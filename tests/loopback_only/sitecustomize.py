"""Ends a Python that looks beyond this machine. Its folder on ``PYTHONPATH`` is enough."""

import os
import sys
from ipaddress import ip_address
from typing import Any

EXIT_STATUS = 97


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode()
    if host in (None, "", "localhost"):
        return
    try:
        inside = ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside:
        # A thread of a telemetry library would swallow an exception.
        print(f"Something looked for {host}.", file=sys.stderr, flush=True)
        os._exit(EXIT_STATUS)


sys.addaudithook(_check)
