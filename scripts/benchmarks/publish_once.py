"""Run by ``bench memory`` in a process of its own: the real handler publishes one upload."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from benchmarks.peak import peak_bytes
from upload_skill.app import lambda_handler


def _event(upload: str) -> dict[str, Any]:
    claims = {"sub": os.environ["SUBJECT"], "roles": "admin"}
    return {
        "routeKey": "POST /uploads/{id}/complete",
        "headers": {},
        "rawQueryString": "",
        "pathParameters": {"id": upload},
        "requestContext": {"authorizer": {"jwt": {"claims": claims}}, "requestId": "bench"},
    }


def main() -> None:
    """Publish, and print the version with the peak resident memory in bytes."""
    answer = lambda_handler(_event(sys.argv[1]), None)
    print(json.dumps({**json.loads(answer["body"]), "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
