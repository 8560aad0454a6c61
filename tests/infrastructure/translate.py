"""Print what AWS makes of the template: run by the infrastructure environment's interpreter.

    python translate.py TEMPLATE PARAMETERS_AS_JSON

A process of its own, so that the translator is exactly the one that `sam` of this project uses.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ARTIFACT_PROPERTIES = ("CodeUri", "ContentUri")


def _package(template: dict[str, Any]) -> None:
    """Name an artifact in S3 in place of every folder, as `sam package` does."""
    sections = [template.get("Globals", {}).get("Function", {})]
    sections += [resource.get("Properties", {}) for resource in template["Resources"].values()]
    for section in sections:
        for name in ARTIFACT_PROPERTIES:
            if name in section:
                section[name] = "s3://artifacts/code"


class _NoManagedPolicies:
    """Stands for the lookup of AWS's managed policies, which needs an account."""

    def load(self) -> dict[str, str]:
        return {}


def main(template_path: str, parameters: str) -> None:
    """Translate and print as JSON."""
    # Only the infrastructure environment has these; the type checker runs in another one.
    from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
    from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]

    template = yaml_parse(Path(template_path).read_text(encoding="utf-8"))
    _package(template)
    json.dump(transform(template, json.loads(parameters), _NoManagedPolicies()), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
