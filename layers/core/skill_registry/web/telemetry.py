"""Logs as JSON on one logger; the inner rings use plain ``logging`` and inherit its form."""

from __future__ import annotations

import logging
from functools import lru_cache

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils


@lru_cache(maxsize=1)
def logger() -> Logger:
    """Return the logger of this environment. Level and service come from Powertools' variables."""
    made = Logger()
    # The parent of all loggers of the package; without a name it would not be found.
    package = logging.getLogger("skill_registry")
    utils.copy_config_to_registered_loggers(made, include={package.name})
    return made
