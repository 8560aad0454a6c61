"""What the local stack tells its user when it cannot go on."""

from __future__ import annotations


class StackError(Exception):
    """The stack cannot start or go on; the message is one sentence for a person."""
