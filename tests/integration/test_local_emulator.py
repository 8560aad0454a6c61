"""The embedded S3 as the project runs it: safe on loopback, durable over kill -9, restartable."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import httpx
import pytest
from botocore.exceptions import ClientError
from local_stack.emulator import Emulator

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.emulator import Endpoint


def test_a_second_create_only_put_is_refused(emulator: Endpoint) -> None:
    bucket = emulator.make_bucket()
    s3 = emulator.client("s3")
    s3.put_object(Bucket=bucket, Key="a", Body=b"1", IfNoneMatch="*")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket=bucket, Key="a", Body=b"2", IfNoneMatch="*")
