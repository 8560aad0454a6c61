"""The embedded S3, SQS and IAM: one MiniStack process, bound to the loopback address.

Objects are plain files under the data folder and survive ``kill -9``. Everything else (buckets'
settings, queues, users) lives in the emulator's memory and is made again at every start.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import time
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from local_stack.errors import StackError
from local_stack.files import FileLock, Lifeline, make_folder
from local_stack.recovery import undo_torn_writes
from local_stack.virtualenvs import interpreter

if TYPE_CHECKING:
    from types import TracebackType

REGION = "us-east-1"
ACCOUNT = "000000000000"
HOST = "127.0.0.1"
SERVICES = "s3,sqs,iam,sts"
START_SECONDS = 60.0
STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """A pair of AWS keys."""

    access_key: str
    secret_key: str


ROOT = Credentials("test", "test")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that speaks AWS's APIs, and keys that it accepts.

    ``certificate`` is what an https address is trusted by, where no authority signed it.
    """

    url: str
    credentials: Credentials = ROOT
    region: str = REGION
    certificate: Path | None = None

    def client(self, service: str) -> Any:
        """Return a boto3 client; S3 requests name their bucket in the path."""
        return boto3.client(
            service,  # type: ignore[call-overload]  # the name is not a literal here
            endpoint_url=self.url,
            region_name=self.region,
            aws_access_key_id=self.credentials.access_key,
            aws_secret_access_key=self.credentials.secret_key,
            verify=str(self.certificate) if self.certificate else None,
            config=Config(
                signature_version="s3v4" if service == "s3" else None,
                s3={"addressing_style": "path"},
                connect_timeout=5,
                read_timeout=60,
                retries={"total_max_attempts": 3, "mode": "standard"},
            ),
        )

    def make_bucket(self, name: str | None = None, *, versioned: bool = True) -> str:
        """Make a bucket, or leave the one that is there, and return its name.

        Without a name it is a fresh one. ``versioned`` turns on object versions.
        """
        name = name or f"bucket-{uuid.uuid4().hex}"
        s3 = self.client("s3")
        with contextlib.suppress(s3.exceptions.BucketAlreadyOwnedByYou):
            s3.create_bucket(Bucket=name)
        if versioned:
            status = {"Status": "Enabled"}
            s3.put_bucket_versioning(Bucket=name, VersioningConfiguration=status)
        s3.close()
        return name

    def environment(self) -> dict[str, str]:
        """Return the variables by which botocore finds this endpoint and its keys."""
        trust = {"AWS_CA_BUNDLE": str(self.certificate)} if self.certificate else {}
        return trust | {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.credentials.access_key,
            "AWS_SECRET_ACCESS_KEY": self.credentials.secret_key,
        }


class Emulator:
    """One MiniStack process over one data folder.

    Args:
        data: Folder of the objects, logs and locks; made where it is missing.
        port: Port on 127.0.0.1. 0 takes the one of the last run on this folder if it is free, so
            that whoever was given the address need not be told again, else any.
        python: Interpreter with MiniStack; by default the one of the emulator environment.
        services: Names of the services of AWS that it plays, with commas between them.
        tls: Speak TLS only, with a certificate that the endpoint names.
    """

    def __init__(
        self,
        data: Path,
        port: int = 0,
        *,
        python: Path | None = None,
        services: str = SERVICES,
        tls: bool = False,
    ) -> None:
        self.data = data
        self._python = python
        self._services = services
        self._tls = tls
        self._wanted_port = port
        self._lifeline: Lifeline | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def endpoint(self) -> Endpoint:
        """The running emulator with its root keys."""
        if not self._tls:
            return Endpoint(f"http://{HOST}:{self.port}")
        # Where MiniStack keeps the one that it makes.
        certificate = (self.data / "tmp" / "ministack-tls" / "server.crt").resolve()
        return Endpoint(f"https://{HOST}:{self.port}", certificate=certificate)

    def __enter__(self) -> Emulator:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process and return when it answers.

        An emulator that a killed server left behind on the same folder is ended first.

        Raises:
            StackError: It does not come up, or the folder cannot be written.
        """
        python = self._python or interpreter("emulator")
        make_folder(self.data)
        log = make_folder(self.data / "logs") / "emulator.log"
        lock = take_over(self.data / "emulator.lock")
        undo_torn_writes(self.data / "s3")
        self._lifeline = Lifeline()
        with bound_socket(self._port_to_try()) as listener, log.open("wb") as output:
            self.port = listener.getsockname()[1]
            descriptors = (listener.fileno(), self._lifeline.read_end, lock.descriptor)
            self._process = subprocess.Popen(
                [str(python), "-P", str(Path(__file__).with_name("emulator_process.py"))]
                + [str(number) for number in descriptors[:2]],
                pass_fds=descriptors,
                env=self._environment(),
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # A Ctrl-C in the terminal is for the server, which then ends its children in order.
                start_new_session=True,
            )
        lock.name_owner(self._process.pid)
        lock.close()
        (self.data / "emulator.port").write_text(f"{self.port}\n")
        self._wait_until_it_answers(log)

    def poll(self) -> int | None:
        """Return the exit status of an emulator that has ended, None while it runs."""
        return self._process.poll() if self._process else None

    def stop(self) -> None:
        """End the process; requests that it is working on are finished."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                # Functions that it runs are of its group.
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._process = None
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None

    def _port_to_try(self) -> int:
        if self._wanted_port:
            return self._wanted_port
        with contextlib.suppress(OSError, ValueError):
            last = int((self.data / "emulator.port").read_text())
            bound_socket(last).close()
            return last
        return 0

    def _environment(self) -> dict[str, str]:
        temporary = make_folder(self.data / "tmp")
        return {
            "PATH": os.defpath,
            "HOME": str(temporary),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "AUTH": "true",
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "SERVICES": self._services,
            "SFTP_ENABLED": "0",
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str((self.data / "s3").resolve()),
            "LOG_LEVEL": "WARNING",
            # It would otherwise look for containers of its own in the user's Docker.
            "DOCKER_HOST": f"unix://{temporary}/no-docker.sock",
            **self._encryption(),
        }

    def _encryption(self) -> dict[str, str]:
        certificate = self.endpoint.certificate
        # Functions that it runs inherit what they trust it by.
        return {"USE_SSL": "1", "AWS_CA_BUNDLE": str(certificate)} if certificate else {}

    def _wait_until_it_answers(self, log: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return
            time.sleep(0.02)
        self.stop()
        raise StackError(f"The embedded S3 (MiniStack) did not start; see {log}.")

    def _answers(self) -> bool:
        address, trusted = f"{self.endpoint.url}/_ministack/health", self.endpoint.certificate
        try:
            context = ssl.create_default_context(cafile=trusted) if trusted else None
            with urllib.request.urlopen(address, timeout=5, context=context):
                return True
        except OSError:
            return False


def take_over(path: Path) -> FileLock:
    """Take an emulator's lock, ending the emulator that still holds it.

    Only an emulator over the same folder can hold the lock, and only while it lives: so the process
    whose id stands in it is one of ours and no other that got the same number later.

    Raises:
        StackError: It does not end.
    """
    lock = FileLock(path)
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_SECONDS
        asked = False
        while not lock.acquire():
            owner = lock.owner()
            if owner is not None and not asked:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(owner, number)
                asked = True
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        else:
            return lock
    lock.close()
    raise StackError(f"Another emulator holds {path} and does not end; end process {lock.owner()}.")


def bound_socket(port: int) -> socket.socket:
    """Return a socket that is bound to ``port`` on the loopback address, not yet listening.

    Raises:
        OSError: The port is in use or not permitted.
    """
    # asyncio turns off Nagle's algorithm (80 ms a request) only where it sees the protocol.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if port:
            # Connections of a server that ended a moment ago do not keep its port from us.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
    except OSError:
        listener.close()
        raise
    return listener
