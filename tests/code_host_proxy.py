"""An HTTP proxy behind which ``github.com`` is a code host of a test.

It answers ``CONNECT`` for GitHub's API and downloads by speaking TLS itself, with certificates of
its own, so that a program which is told of the proxy (``HTTPS_PROXY``) and of its authority
(``SSL_CERT_FILE``) works with ``https://github.com`` unchanged.
"""

from __future__ import annotations

import base64
import contextlib
import ssl
import subprocess
import threading
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from code_host import API, CODELOAD, Handler, Server, as_chunk

if TYPE_CHECKING:
    import socket
    from pathlib import Path
    from types import TracebackType

    from code_host import CodeHost

# Where the code host has what these hosts of GitHub have at their root.
HOSTS = {"api.github.com": API, "codeload.github.com": CODELOAD}
SECONDS = 30.0
# Of one connection only; the other one gets its own.
_HOP = frozenset({"connection", "keep-alive", "host", "proxy-connection", "proxy-authorization"})
_BLOCK = 16 * 1024

# Every extension that strict verification asks for (RFC 5280), which Python 3.13 does.
_REQUESTS = f"""
[req]
distinguished_name = name
prompt = no
[name]
CN = A code host of a test
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[hosts]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = {", ".join(f"DNS:{host}" for host in HOSTS)}
"""
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Certificates:
    """A throw-away authority, and one certificate for GitHub's hosts, made in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = folder / "authority.pem"
        self.certificate = folder / "hosts.pem"
        self.key = folder / "hosts.key"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requests.cnf").write_text(_REQUESTS)
        as_asked = ("-config", "requests.cnf", *_NEW_KEY)
        self._openssl(
            *("req", "-x509", *as_asked, "-keyout", "authority.key", "-out", "authority.pem"),
            *("-days", "2", "-extensions", "authority", "-subj", "/CN=An authority of a test"),
        )
        self._openssl("req", "-new", *as_asked, "-keyout", "hosts.key", "-out", "hosts.csr")
        self._openssl(
            *("x509", "-req", "-in", "hosts.csr", "-CA", "authority.pem", "-CAkey"),
            *("authority.key", "-CAcreateserial", "-out", "hosts.pem", "-days", "2"),
            *("-extfile", "requests.cnf", "-extensions", "hosts"),
        )

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(
            ["openssl", *arguments],
            cwd=self._folder,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")


class Proxy:
    """A proxy at ``url``, in front of a code host. Use it in ``with``.

    Args:
        host: What answers in GitHub's place.
        folder: Where certificates are made.
        user: Whom the proxy lets through, with ``password``; None lets everybody.
        password: Of the user.

    Attributes:
        url: For ``HTTPS_PROXY``, with user and password.
        ca_file: For ``SSL_CERT_FILE``.
        connects: What was asked for (``host:port``), in the order of arrival, refused or not.
        refused: How many requests came without the right user and password.
    """

    def __init__(
        self, host: CodeHost, folder: Path, *, user: str | None = None, password: str = ""
    ) -> None:
        certificates = Certificates(folder)
        self.host = host
        self.ca_file = certificates.authority
        self.connects: list[str] = []
        self.refused = 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificates.certificate, certificates.key)
        self._expected: str | None = None
        login = ""
        if user is not None:
            login = f"{user}:{password}@"
            self._expected = "Basic " + base64.b64encode(login[:-1].encode()).decode()
        self._lock = threading.Lock()
        self._server = Server(partial(_Tunnelling, self))
        self.url = self._server.url.replace("://", f"://{login}")

    def __enter__(self) -> Proxy:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()

    def environment(self) -> dict[str, str]:
        """Return the variables by which a program finds GitHub here."""
        proxies = {"HTTPS_PROXY": self.url, "https_proxy": self.url}
        return {**proxies, "SSL_CERT_FILE": str(self.ca_file), "NO_PROXY": "", "no_proxy": ""}

    def admits(self, target: str, authorization: str | None) -> int:
        """Note a ``CONNECT``, and return the status that answers it."""
        name, _, port = target.rpartition(":")
        with self._lock:
            self.connects.append(target)
            if self._expected is not None and authorization != self._expected:
                self.refused += 1
                return 407
        return 200 if name in HOSTS and port == "443" else 403

    def translated(self, text: str) -> str:
        """Return a text with GitHub's addresses in place of the code host's."""
        for name, path in HOSTS.items():
            text = text.replace(f"{self.host.url}{path}/", f"https://{name}/")
        return text


class _Tunnelling(Handler):
    # Ends a client that never speaks.
    timeout = SECONDS

    def __init__(self, proxy: Proxy, *connection: Any) -> None:
        self._proxy = proxy
        super().__init__(*connection)

    def do_CONNECT(self) -> None:  # noqa: N802
        status = self._proxy.admits(self.path, self.headers.get("proxy-authorization"))
        self.close_connection = True
        if status != 200:
            self.send_response(status)
            if status == 407:
                self.send_header("proxy-authenticate", 'Basic realm="proxy"')
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.send_response_only(200, "Connection established")
        self.end_headers()
        self._speak_for(self.path.rpartition(":")[0])

    def _refuse(self) -> None:
        self.read()
        self.close_connection = True
        self.send_error(403)

    # The names are http.server's.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _refuse  # noqa: N815

    def _speak_for(self, name: str) -> None:
        connection: socket.socket = self.connection
        # A client that does not trust the certificate ends it here.
        with (
            contextlib.suppress(OSError),
            self._proxy.tls.wrap_socket(connection.dup(), server_side=True) as secured,
        ):
            _Forwarding(self._proxy, name, secured, self.client_address, self.server)


class _Forwarding(Handler):
    timeout = SECONDS

    def __init__(self, proxy: Proxy, name: str, *connection: Any) -> None:
        self._proxy, self._name = proxy, name
        super().__init__(*connection)

    def _handle(self) -> None:
        request = self.read()
        port = urlsplit(self._proxy.host.url).port
        upstream = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        with contextlib.closing(upstream):
            try:
                upstream.putrequest(
                    request.method,
                    f"{HOSTS[self._name]}{request.path}",
                    skip_host=True,
                    skip_accept_encoding=True,
                )
                upstream.putheader("host", self._name)
                for key, value in request.headers:
                    if key not in _HOP:
                        upstream.putheader(key, value)
                upstream.endheaders()
                answer = upstream.getresponse()
            except (OSError, HTTPException):
                self.close_connection = True
                return
            with answer:
                self._pass_on(answer)

    # The names are http.server's.
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _pass_on(self, answer: HTTPResponse) -> None:
        kind = answer.headers.get("content-type", "")
        # Documents name addresses, and are small; archives pass as they are, cut or whole.
        document = self._proxy.translated(answer.read().decode()) if "json" in kind else None
        self.send_response_only(answer.status)
        for key, value in answer.headers.items():
            if document is None or key != "content-length":
                self.send_header(key, self._proxy.translated(value))
        if document is not None:
            self.send_header("content-length", str(len(document.encode())))
            self.end_headers()
            self.wfile.write(document.encode())
            return
        self.end_headers()
        self._pass_body(answer)

    def _pass_body(self, answer: HTTPResponse) -> None:
        chunked = answer.headers.get("transfer-encoding") == "chunked"
        left = int(answer.headers.get("content-length") or 0)
        with contextlib.suppress(HTTPException, OSError):
            while block := answer.read1(_BLOCK):
                left -= len(block)
                self.wfile.write(as_chunk(block) if chunked else block)
            if chunked:
                self.wfile.write(b"0\r\n\r\n")
                return
            if left <= 0:
                return
        self.close_connection = True
