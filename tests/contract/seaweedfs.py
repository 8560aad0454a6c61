"""SeaweedFS: an S3 server by other people, for a second opinion on what the store port takes.

It runs only where it is asked for (``./scripts/test contract --seaweedfs``). What it does otherwise
than S3 is named in ``DEVIATIONS``; the tests that it concerns have to fail there, so that a version
which does better is noticed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from local_stack.emulator import HOST, Credentials, Endpoint
from local_stack.errors import StackError
from local_stack.files import Lifeline, make_folder
from local_stack.virtualenvs import interpreter

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

KEYS = Credentials("contract", "contract-secret")
START_SECONDS = 60.0
STOP_SECONDS = 10.0
# SeaweedFS adds this to each port for its own calls; not each of those can be named.
GRPC = 10_000

# The executable ends with this process, however that ends: the shell waits for a pipe that breaks.
_WITH_PARENT = 'lifeline=$1; shift; "$@" & read -r _ <&"$lifeline"; kill $!; wait $!'

_EMPTY = "it stores no metadata without a text; the registry writes none"

# Test, as pytest names it without the implementation, to what SeaweedFS does there instead.
DEVIATIONS = {
    "test_a_listing_is_in_utf8_byte_order": (
        "of a bucket with versions, it lists names that are not ASCII first; of another, it lists "
        "folder by folder, so that pdf/ comes before pdf-tools/"
    ),
    "test_a_conditional_delete_of_an_absent_key_counts_as_removed": (
        "it answers 412 where S3 answers 404; who removes something looks again and finds nothing"
    ),
    "test_any_text_survives_as_metadata[]": _EMPTY,
    "test_a_signed_upload_keeps_an_empty_text[signed_put]": _EMPTY,
    "test_a_signed_upload_keeps_an_empty_text[signed_post]": _EMPTY,
    "test_an_odd_key_is_written_read_listed_and_deleted[key7]": (
        "of a bucket with versions, it keeps no name of 255 bytes: it makes a longer one of it"
    ),
}


def deviation(test: str) -> str | None:
    """Return what SeaweedFS does otherwise than S3 in a test, by the test's name with parameters.

    None for a test of another implementation, and where it does as S3.
    """
    if "[seaweedfs" not in test:
        return None
    name = test.replace("[seaweedfs-", "[").replace("[seaweedfs]", "")
    return DEVIATIONS.get(name)


class SeaweedFS:
    """One process over one folder, bound to the loopback, on free ports, without telemetry."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline = Lifeline()
        self._port = 0

    @property
    def endpoint(self) -> Endpoint:
        """Its S3."""
        return Endpoint(f"http://{HOST}:{self._port}", KEYS)

    def __enter__(self) -> SeaweedFS:
        folder = make_folder(self.data / "objects")
        log = self.data / "seaweedfs.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    "bash",
                    "-c",
                    _WITH_PARENT,
                    "bash",
                    str(self._lifeline.read_end),
                    *self._command(folder),
                ],
                env={"PATH": os.defpath, "HOME": str(self.data), "TMPDIR": str(self.data)},
                cwd=self.data,
                pass_fds=(self._lifeline.read_end,),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if time.monotonic() > deadline:
                self._stop()
                raise StackError(f"SeaweedFS did not start; see {log}.")
            time.sleep(0.05)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _command(self, folder: Path) -> list[str]:
        identity = {
            "name": "contract",
            "credentials": [{"accessKey": KEYS.access_key, "secretKey": KEYS.secret_key}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        config = self.data / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        self._port, *others = free_ports(5)
        names = ("master", "volume", "filer", "admin")
        return [
            str(interpreter("seaweedfs").with_name("weed")),
            "mini",
            f"-dir={folder}",
            f"-ip={HOST}",
            f"-ip.bind={HOST}",
            "-master.telemetry=false",
            "-admin.ui=false",
            "-webdav=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.config={config}",
            f"-s3.port={self._port}",
            *(f"-{name}.port={port}" for name, port in zip(names, others, strict=True)),
        ]

    def _answers(self) -> bool:
        client = self.endpoint.client("s3")
        try:
            client.list_buckets()
        except (BotoCoreError, ClientError):
            return False
        finally:
            client.close()
        return True

    def _stop(self) -> None:
        self._lifeline.close()
        if self._process is not None:
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process = None


def free_ports(count: int) -> list[int]:
    """Return ports that are free now, and the ones that SeaweedFS derives from them as well."""
    found: list[int] = []
    held: list[socket.socket] = []
    try:
        while len(found) < count:
            port = _bind(0, held)
            if port is not None and port + GRPC < 65_536 and _bind(port + GRPC, held) is not None:
                found.append(port)
    finally:
        for each in held:
            each.close()
    return found


def _bind(port: int, held: list[socket.socket]) -> int | None:
    """Take a port until the sockets are closed; None where it is taken."""
    taken = socket.socket()
    held.append(taken)
    try:
        taken.bind((HOST, port))
    except OSError:
        return None
    number: int = taken.getsockname()[1]
    return number
