"""References: the paths that a SKILL.md names, and whether they lie in the skill.

A text is no program: what looks like a path may be an example. So only these are taken for
references: targets of Markdown links, paths below a folder that the skill has or that is one by
convention (Agent Skills specification, "optional directories"), and the names of files at the root
in another letter case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skill_registry.spec.diagnostics import Place, warning
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.text import Lines, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skill_registry.spec.model import Diagnostic

CONVENTIONAL = frozenset({"references", "resources", "scripts", "assets"})
MOST_TOLD = 20

# Possessive throughout, so that a text of nothing but brackets is read in one go.
_LINK = re.compile(r"\]\(<?+([^)(\s<>]{1,255}+)>?+(?:\s[^)(]{0,200}+)?+\)")
_PATH = re.compile(
    r"(?<![\w./:@$~*{<%-])(?:\./)?+((?:[\w-]++/){0,9}+[\w-]++\.[A-Za-z0-9]{1,8}+)(?![\w/*{<-])"
)
# A target without a dot or a slash is a placeholder as often as a file.
_TARGET = re.compile(r"(?=[^/]*[./])[\w.@+-][\w./@+ -]*")


def check_references(text: str, start: int, paths: frozenset[str]) -> list[Diagnostic]:
    """Warn of references in a SKILL.md's body that lead nowhere, each path once.

    Args:
        text: The whole file.
        start: Where its body starts, in code points.
        paths: The paths of the skill's files.
    """
    folded = {path.casefold(): path for path in paths}
    folders = {path.split("/", 1)[0] for path in paths if "/" in path} | CONVENTIONAL
    lines = Lines(text)
    found: dict[str, Diagnostic] = {}
    for path, index, linked in _references(text, start):
        if path in paths or path in found or any(p.startswith(path + "/") for p in paths):
            continue
        line, column = lines.position(index)
        place = Place(SKILL_MD, line, column)
        other = folded.get(path.casefold())
        if other is not None:
            message = f"The text names {shown(path)}; the file is called {shown(other)}."
            hint = "Letter case counts: use one spelling."
            found[path] = warning("reference_case", message, place=place, hint=hint)
        elif linked or ("/" in path and path.split("/", 1)[0] in folders):
            message = f"The text names {shown(path)}, and the skill has no such file."
            hint = "Paths are relative to the folder of SKILL.md. Add the file, or mend the path."
            found[path] = warning("reference_missing", message, place=place, hint=hint)
        if len(found) == MOST_TOLD:
            break
    return list(found.values())


def _references(text: str, start: int) -> Iterator[tuple[str, int, bool]]:
    """Yield each path that the body may refer to, where it stands, and whether it is a link."""
    for match in _LINK.finditer(text, start):
        target = match[1].split("#", 1)[0].removeprefix("./")
        if _TARGET.fullmatch(target):
            yield target.rstrip("/"), match.start(1), True
    for match in _PATH.finditer(text, start):
        yield match[1], match.start(1), False
