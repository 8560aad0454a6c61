"""Runs one Lambda handler under awslambdaric. Started by path, in the runtime's environment.

Arguments: the descriptor of the pipe that ends when the server does, and the handler.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import runpy
import sys
import threading
from pathlib import Path


def end_with_parent(lifeline: int) -> None:
    """Wait for the server's end, then end at once: nobody is left to answer to."""
    os.read(lifeline, 1)
    os._exit(1)


def provide_runtime_client() -> None:
    """Put our own Runtime API client where awslambdaric has none: it builds one on Linux only."""
    try:
        importlib.import_module("runtime_client")
    except ImportError:
        path = Path(__file__).with_name("runtime_client.py")
        spec = importlib.util.spec_from_file_location("runtime_client", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules["runtime_client"] = module


def main() -> None:
    """Serve invocations until the Runtime API is gone."""
    lifeline, handler = int(sys.argv[1]), sys.argv[2]
    threading.Thread(target=end_with_parent, args=(lifeline,), daemon=True).start()
    provide_runtime_client()
    sys.argv = ["awslambdaric", handler]
    runpy.run_module("awslambdaric", run_name="__main__")


if __name__ == "__main__":
    main()
