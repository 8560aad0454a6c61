"""What a failure becomes on the command line: an exit code and a JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.agent.problems import (
    AnswerInvalid,
    CredentialsFailed,
    RegistryProblem,
    RegistryUnreachable,
    TransferFailed,
)
from skill_registry.errors import RegistryError, RequestInvalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.spec.model import Diagnostic

DONE = 0
REFUSED = 1
# Wrong usage, or no registry to talk to.
UNUSABLE = 2
# Ctrl-C, as shells count it: 128 and the number of SIGINT.
INTERRUPTED = 130


def exit_code(error: RegistryError) -> int:
    """Return 1 for what the registry or this program refuses, 2 for usage and for no answer."""
    if isinstance(error, RegistryUnreachable | AnswerInvalid | CredentialsFailed | RequestInvalid):
        return UNUSABLE
    status = error.status if isinstance(error, RegistryProblem | TransferFailed) else None
    # Too busy or broken is no verdict on the skill.
    return UNUSABLE if status is not None and (status >= 500 or status == 429) else REFUSED


def diagnostics_of(error: RegistryError) -> tuple[Diagnostic, ...]:
    """Return every diagnostic that an error carries."""
    found: tuple[Diagnostic, ...] = tuple(getattr(error, "diagnostics", ()))
    return found


def document_of(error: RegistryError, before: Sequence[Diagnostic] = ()) -> dict[str, Any]:
    """Return the JSON form: the registry's own problem document, or one like it.

    Args:
        error: What went wrong.
        before: Diagnostics that were found on this side already; they come first.
    """
    document: dict[str, Any] = {"code": error.code, "detail": error.message}
    if isinstance(error, RegistryProblem):
        document = dict(error.document)
    found = (*before, *diagnostics_of(error))
    if found:
        document["diagnostics"] = [each.to_dict() for each in found]
    return document
