"""What is printed of a push: each result as soon as it is its turn, and a sum in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skill_registry.spec.diagnostics import Place, error
from skill_registry.spec.model import has_errors
from skill_registry_cli.failures import DONE, INTERRUPTED, REFUSED, exit_code
from skill_registry_cli.pushing import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_registry.spec.model import Diagnostic
    from skill_registry_cli.pushing import Pushed
    from skill_registry_cli.skill_paths import Item
    from skill_registry_cli.terminal import Terminal

_MOST_NAMED = 10
_COUNTED = {
    State.PUBLISHED: "published",
    State.SENT: "sent",
    State.VALIDATED: "would be published",
}
_UNKNOWN = "unknown"
_LEFT = {
    State.NOT_TRIED.value: "Not tried",
    _UNKNOWN: "Published or not, `skillctl versions` tells",
}


class Report:
    """The results of a run.

    Args:
        terminal: Where they go.
        items: What was to be pushed, in the order in which results are told.
        success: What becomes of an item where nothing goes wrong.
        alone: There is one item, and it is told as the only thing of the run.
    """

    def __init__(
        self, terminal: Terminal, items: Sequence[Item], success: State, *, alone: bool
    ) -> None:
        self._terminal = terminal
        self._items = items
        self._success = success
        self._alone = alone
        self._results: dict[int, Pushed] = {}
        self._told = 0

    def keep(self, number: int, result: Pushed) -> None:
        """Keep the result of the item at that place; may be called by any thread."""
        self._results[number] = result

    def tell(self) -> None:
        """Print the results whose turn it is."""
        while (result := self._results.get(self._told)) is not None:
            self._told += 1
            if not self._terminal.as_json:
                self._tell(result)

    def close(
        self,
        *,
        stopped: bool = False,
        uncertain: bool = False,
        diagnostics: Sequence[Diagnostic] = (),
        more: dict[str, Any] | None = None,
    ) -> int:
        """Print what is to be said in the end, and return the exit code.

        Args:
            stopped: Somebody stopped the run.
            uncertain: So hard that items without a result may be published nevertheless.
            diagnostics: What else is worth knowing.
            more: Further members of the JSON document.
        """
        # Behind one without a result, others may be done.
        results = [self._results[number] for number in sorted(self._results)]
        if not self._terminal.as_json:
            for result in results[self._told :]:
                self._tell(result)
        left = self._left(uncertain=uncertain)
        if self._alone:
            self._close_one(results)
        elif self._terminal.as_json:
            document = self._document(results, left)
            marks = {"stopped": True} if stopped else {}
            found = {"diagnostics": [each.to_dict() for each in diagnostics]} if diagnostics else {}
            self._terminal.document({**document, **marks, **found, **(more or {})})
        else:
            self._terminal.diagnostics(diagnostics)
            self._sum_up(results, left, stopped=stopped)
        codes = [exit_code(each.error) for each in results if each.error is not None]
        if stopped:
            return INTERRUPTED
        return max([DONE, *codes, *([REFUSED] if has_errors(diagnostics) else [])])

    def _left(self, *, uncertain: bool) -> dict[int, str]:
        """Return the state of each item that nothing is said of, by its place."""
        without = _UNKNOWN if uncertain else State.NOT_TRIED.value
        found = {}
        for number in range(len(self._items)):
            result = self._results.get(number)
            if result is None:
                found[number] = without
            elif result.state is State.NOT_TRIED:
                found[number] = State.NOT_TRIED.value
        return found

    def _tell(self, result: Pushed) -> None:
        terminal, prefix = self._terminal, result.item.prefix
        if result.error is None:
            terminal.diagnostics(result.diagnostics, prefix)
            if result.sentence:
                terminal.say(result.sentence)
        elif self._alone:
            terminal.refusal(result.error, prefix, result.diagnostics)
        else:
            where = Place(result.item.shown)
            terminal.diagnostics([error(result.error.code, result.error.message, place=where)])
            found = getattr(result.error, "diagnostics", ())
            terminal.diagnostics((*result.diagnostics, *found), prefix)

    def _close_one(self, results: Sequence[Pushed]) -> None:
        if not results:
            why = "Whether it is published is not certain; `skillctl versions` tells."
            self._terminal.failure("interrupted", f"Stopped while it was pushed. {why}")
        elif self._terminal.as_json:
            self._terminal.document(results[0].document())

    def _document(self, results: Sequence[Pushed], left: dict[int, str]) -> dict[str, Any]:
        told: list[dict[str, Any]] = [
            {"path": item.shown, "state": left[number]}
            if number in left
            else self._results[number].result()
            for number, item in enumerate(self._items)
        ]
        counts = {
            "published": _count(results, State.PUBLISHED),
            self._success.value: _count(results, self._success),
            "refused": _count(results, State.REFUSED),
        }
        states = list(left.values())
        return {"results": told, **counts, **{state: states.count(state) for state in states}}

    def _sum_up(self, results: Sequence[Pushed], left: dict[int, str], *, stopped: bool) -> None:
        parts = [
            f"{_count(results, self._success)} {_COUNTED[self._success]}",
            f"{_count(results, State.REFUSED)} refused",
        ]
        for state in dict.fromkeys(left.values()):
            paths = [self._items[number].shown for number in left if left[number] == state]
            more = len(paths) - _MOST_NAMED
            named = ", ".join(paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            self._terminal.notice(f"{_LEFT[state]}: {named}.")
            parts.append(f"{len(paths)} {state.replace('_', ' ')}")
        if self._items:
            self._terminal.notice(f"{'Stopped: ' if stopped else ''}{', '.join(parts)}.")


def _count(results: Sequence[Pushed], state: State) -> int:
    return sum(each.state is state for each in results)
