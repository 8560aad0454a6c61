"""What a listing needs loads neither a YAML parser nor a zip reader."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["names", "rendering", "budget", "visibility", "fences", "files", "layout"]
)
def test_a_module_that_a_listing_needs_is_light(module: str) -> None:
    script = (
        f"import sys, skill_registry.spec.{module}\n"
        "print(sorted({'yaml', 'frontmatter', 'zipfile'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
