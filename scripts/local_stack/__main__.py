"""The command line of ``./scripts/server``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.errors import StackError
from local_stack.files import make_folder
from local_stack.virtualenvs import PROJECT

if TYPE_CHECKING:
    from local_stack.server import Options

DESCRIPTION = """\
Run the registry on this machine, without an AWS account and without Docker: the real
functions, each in processes of its own, behind a stand-in for API Gateway, over an
embedded S3 and SQS. The last line on stdout is "ready: URL" once it answers.
"""
EPILOG = """\
Callers are local administrators. The header X-Local-Claims (a JSON object of JWT claims)
or X-Local-Role (the ARN of an IAM role or of its session) makes the caller someone else, as
API Gateway's authorizer would.

Several servers can share one store: give the second one the first one's store (it prints
"store: URL") with --store, and a --data folder of its own for its logs. They share the
event queue; each event is handled by one of them. Where the endpoint has no SQS, what is
put into it directly is seen at the next reconcile, every 60 seconds. AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY are used for --store where they are set, else test and test.

In the data folder: s3/ the objects, logs/ one file for each function, server.json the
addresses. Everything in it survives the server, also when it is killed.
"""


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; ends the process where it is not valid."""
    parser = argparse.ArgumentParser(
        prog="./scripts/server",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_store_options(parser)
    _add_process_options(parser)
    given = parser.parse_args(arguments)
    if not 0 <= given.port <= 65535:
        parser.error("--port must be 0 to 65535")
    if given.store is not None and not given.store.startswith(("http://", "https://")):
        parser.error("--store must be the address of an S3 endpoint, like http://127.0.0.1:9000")
    if not given.empty and not given.skills.is_dir():
        parser.error(f"--skills: {given.skills} is no folder; --empty starts without skills")
    return given


def options_of(given: argparse.Namespace) -> Options:
    """Return what the command line asks for."""
    # Not at the top: --help need not wait for boto3.
    from local_stack.emulator import ROOT, Credentials
    from local_stack.server import Options

    return Options(
        template=given.template,
        parameters=dict(given.parameter),
        layers=[PROJECT / "layers" / "core"],
        data=given.data,
        port=given.port,
        store=given.store,
        credentials=Credentials(
            os.environ.get("AWS_ACCESS_KEY_ID", ROOT.access_key),
            os.environ.get("AWS_SECRET_ACCESS_KEY", ROOT.secret_key),
        ),
        bucket=given.bucket,
        skills=None if given.empty else given.skills,
        environments=given.environments,
        reconcile_every=given.reconcile_every,
    )


def _add_store_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8080, help="0 takes any free one (8080)")
    parser.add_argument(
        "--data",
        type=Path,
        default=PROJECT / ".local",
        metavar="DIR",
        help="folder of all state (.local)",
    )
    parser.add_argument("--store", metavar="URL", help="use an S3 endpoint that already runs")
    parser.add_argument("--bucket", default="skill-registry", help="its bucket (skill-registry)")
    parser.add_argument("--empty", action="store_true", help="do not publish the bundled skills")
    parser.add_argument(
        "--skills",
        type=Path,
        default=PROJECT / "skills",
        metavar="DIR",
        help="folder of the bundled skills (skills)",
    )


def _add_process_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--environments",
        type=_count,
        default=2,
        metavar="N",
        help="processes for each function, each with a memory of its own (2)",
    )
    parser.add_argument(
        "--reconcile-every",
        type=_count,
        metavar="SECONDS",
        help="how often everything is compared and repaired (900)",
    )
    parser.add_argument(
        "--template",
        type=Path,
        default=PROJECT / "template.yaml",
        metavar="FILE",
        help="SAM template to take functions and routes from (template.yaml)",
    )
    parser.add_argument(
        "--parameter",
        type=_parameter,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter of the template, as in KeepVersions=3; may be repeated",
    )


def _parameter(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError("must be NAME=VALUE")
    return name, value


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def main(arguments: list[str]) -> int:
    """Run the stack; 0 when it was asked to end, 1 when it could not go on."""
    # Until the stack itself listens to Ctrl-C, it ends the process without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    given = parse(arguments)
    try:
        # Libraries' own remarks are for the log, not for the terminal.
        logging.basicConfig(
            filename=make_folder(given.data / "logs") / "server.log",
            format="%(asctime)s %(levelname)s %(name)s %(message)s",
            level=logging.WARNING,
        )
        options = options_of(given)
        from local_stack.server import Stack

        asyncio.run(Stack(options, lambda line: print(line, flush=True)).run())
    except StackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
