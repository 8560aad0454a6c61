"""Logs as JSON on one logger; the inner rings use plain ``logging`` and inherit its form."""

from __future__ import annotations

from functools import lru_cache

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils


@lru_cache(maxsize=1)
def logger() -> Logger:
    """Return the logger of this environment. Level and service come from Powertools' variables."""
    made = Logger()
    utils.copy_config_to_registered_loggers(made, include={"skill_registry"})
    return made
