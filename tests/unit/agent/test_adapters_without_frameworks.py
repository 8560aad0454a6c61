"""What an adapter says where its framework is not installed; this environment has none of them."""

from __future__ import annotations

import importlib
import re

import pytest


@pytest.mark.parametrize("module", ["langchain", "pydantic_ai", "strands"])
def test_a_missing_framework_is_told_with_the_extra_that_installs_it(module: str) -> None:
    extra = module.replace("_", "-")
    with pytest.raises(
        ImportError, match=re.escape(f"pip install 'skill-registry[{extra}]'")
    ) as told:
        importlib.import_module(f"skill_registry.agent.adapters.{module}")
    assert isinstance(told.value.__cause__, ImportError)
