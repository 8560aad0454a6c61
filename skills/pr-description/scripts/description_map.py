"""The contract of a pull request description: fields, caps, what is never embedded, rendering.

Pure: it knows no repository and no git. `check_description.py` beside it is the command line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

Map = dict[str, Any]

# Caps are (fewest, most): code points of a text, entries of a list. Fewest 0 = may be left out.
TEXTS = {"title": (1, 72), "summary": (1, 280), "why": (1, 800)}
LISTS: dict[str, tuple[int, int, dict[str, tuple[int, int]]]] = {
    "pointers": (0, 7, {"label": (1, 80), "note": (1, 320), "look_for": (0, 160)}),
    "rest": (0, 60, {"path": (1, 255), "note": (1, 120)}),
    "decisions": (0, 6, {"choice": (1, 100), "because": (1, 300)}),
    "risks": (0, 5, {"risk": (1, 200), "guard": (1, 200)}),
    "validation": (1, 10, {"claim": (1, 160), "proof": (1, 240), "state": (1, 7)}),
}
ANCHOR = {"path": (1, 255), "first_line": (3, 200)}
ANCHOR_LINES = 40
ABOVE_FOLD = 2500
STATES = ("passed", "not run")
GITHUB = "https://github.com/{slug}/blob/{sha}/{path}#L{first}-L{last}"

# (rule, pattern, whether a match inside `code` counts, what to do instead)
NEVER = [
    (
        "commit_id",
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b",
        True,
        "name the change, not the commit: ids go stale at the next push",
    ),
    (
        "permalink",
        r"https?://\S+/(?:blob|tree|raw|commit)/",
        True,
        "use a pointer; links to code are made when the map is rendered",
    ),
    (
        "secret",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[a-z]_\w{20,}|\bgithub_pat_\w{20,}|\bxox[a-z]-[\w-]{10,}"
        r"|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}"
        r"|(?i:\b(?:password|secret|token|api[_-]?key)\s*[:=]\s*[\"']?(?=\S*\d)\S{8,})",
        True,
        "remove it and rotate it: a description is mailed and indexed at once",
    ),
    (
        "signed_url",
        r"(?i)x-amz-signature=|[?&](?:sig|signature|access_token)=",
        True,
        "a signed link is a key; say where the file can be found",
    ),
    (
        "local_path",
        r"(?<![\w.])/(?:home|Users|root)/|\b[A-Za-z]:\\|\bfile://",
        True,
        "write the path relative to the repository",
    ),
    (
        "code_block",
        r"(?m)```|~~~|^(?:diff --git |@@ -|\+\+\+ |--- )",
        True,
        "code is shown by pointers; a pasted copy is wrong after the next push",
    ),
    (
        "html",
        r"</?[A-Za-z][^<>]*>|<!--",
        False,
        "only the fold is HTML, and render writes it; use `code`",
    ),
    ("mention", r"(?<![\w/.])@[A-Za-z0-9]", False, "it notifies people; put it into `code`"),
]


class Problem(NamedTuple):
    """One breach: where in the map, the rule's name, and what to do."""

    where: str
    rule: str
    message: str


def check_text(where: str, value: object, low: int, high: int) -> Iterator[Problem]:
    """Yield what is wrong with one text that people will read."""
    if not isinstance(value, str):
        yield Problem(where, "type", "must be text")
        return
    text = value.strip()
    if len(text) < max(low, 1):
        yield Problem(where, "too_short", f"{len(text)} code points, at least {max(low, 1)}")
    if len(text) > high:
        yield Problem(where, "too_long", f"{len(text)} code points, cap {high}")
    breaks = "\n" if where == "why" else ""
    if any(not (char.isprintable() or char in breaks) for char in text):
        yield Problem(where, "control", "has a line break or an invisible character")
    if where == "title" and text.endswith("."):
        yield Problem(where, "title_period", "a title has no period at its end")
    prose = re.sub(r"`[^`]*`", "``", text)
    for rule, pattern, in_code, advice in NEVER:
        found = re.search(pattern, text if in_code else prose)
        if found:
            shown = "" if rule in ("secret", "signed_url") else f"{found.group()!r}: "
            yield Problem(where, rule, shown + advice)


def check_keys(where: str, value: object, required: set[str], optional: set[str]) -> list[Problem]:
    """Return the missing and the unknown keys of an object; they stop the check of its values."""
    if not isinstance(value, dict):
        return [Problem(where, "type", "must be an object")]
    missing = [Problem(where, "missing", name) for name in sorted(required - value.keys())]
    unknown = sorted(value.keys() - required - optional)
    return missing + [Problem(where, "unknown", name) for name in unknown]


def check_path(where: str, value: object) -> Iterator[Problem]:
    """Yield a problem unless the value is a plain path below the repository's root."""
    if not isinstance(value, str) or not 0 < len(value) <= ANCHOR["path"][1]:
        yield Problem(where, "path", "must be text of 1 to 255 code points")
    elif (
        "\\" in value
        or not value.isprintable()
        or any(part in ("", ".", "..") for part in value.removesuffix("/").split("/"))
    ):
        yield Problem(where, "path", f"{value!r} is not relative to the repository's root")


def check_anchor(where: str, anchor: object) -> Iterator[Problem]:
    """Yield what is wrong with an anchor, without looking into a repository."""
    problems = check_keys(where, anchor, {"path", "from", "to", "first_line"}, set())
    yield from problems
    if problems or not isinstance(anchor, dict):
        return
    yield from check_path(f"{where}.path", anchor["path"])
    first, last, start = anchor["from"], anchor["to"], anchor["first_line"]
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        yield Problem(where, "lines", "`from` and `to` are whole numbers, 1 <= from <= to")
    elif last - first >= ANCHOR_LINES:
        yield Problem(where, "lines", f"{last - first + 1} lines, cap {ANCHOR_LINES}")
    low, high = ANCHOR["first_line"]
    if not isinstance(start, str) or start != start.strip()[:high]:
        yield Problem(where, "first_line", f"must be line `from`, stripped, cut at {high}")
    elif sum(char.isalnum() for char in start) < low:
        yield Problem(where, "first_line", f"begin on a line with {low} letters or digits")


def check_entry(name: str, where: str, entry: object) -> Iterator[Problem]:
    """Yield what is wrong with one entry of one of the lists."""
    caps = LISTS[name][2]
    optional = {field for field, (low, _) in caps.items() if low == 0}
    required = (caps.keys() - optional) | ({"anchor"} if name == "pointers" else set())
    problems = check_keys(where, entry, required, optional)
    yield from problems
    if problems or not isinstance(entry, dict):
        return
    for field in sorted(entry.keys() - {"anchor", "path"}):
        yield from check_text(f"{where}.{field}", entry[field], *caps[field])
    if "anchor" in entry:
        yield from check_anchor(f"{where}.anchor", entry["anchor"])
    if "path" in entry:
        yield from check_path(f"{where}.path", entry["path"])
    if "state" in entry and entry["state"] not in STATES:
        yield Problem(f"{where}.state", "state", "one of: " + ", ".join(STATES))


def above_fold(document: Map) -> int:
    """Return the code points that a reader meets before the fold, links not counted."""
    texts = [document["summary"], document["why"]]
    for pointer in document["pointers"]:
        texts += [pointer["label"], pointer["note"], pointer.get("look_for", "")]
    for risk in document["risks"]:
        texts += [risk["risk"], risk["guard"]]
    texts += [item["claim"] for item in document["validation"] if item["state"] == "not run"]
    return sum(len(text.strip()) for text in texts)


def check_map(document: object) -> list[Problem]:
    """Return every breach that can be seen without a repository."""
    problems = check_keys("map", document, TEXTS.keys() | LISTS.keys(), set())
    if problems or not isinstance(document, dict):
        return problems
    for name, caps in TEXTS.items():
        problems += check_text(name, document[name], *caps)
    for name, (low, high, _) in LISTS.items():
        entries = document[name]
        if not isinstance(entries, list):
            problems.append(Problem(name, "type", "must be a list"))
            continue
        if not low <= len(entries) <= high:
            problems.append(Problem(name, "count", f"{len(entries)} entries, {low} to {high}"))
        for index, entry in enumerate(entries):
            problems += check_entry(name, f"{name}[{index}]", entry)
    if not problems and (size := above_fold(document)) > ABOVE_FOLD:
        problems.append(Problem("map", "above_fold", f"{size} code points, cap {ABOVE_FOLD}"))
    return problems


def render_pointers(document: Map, sha: str, slug: str, template: str) -> Iterator[str]:
    """Yield the blocks of the pointers: heading, text, and last the link."""
    if not document["pointers"]:
        yield "No line is left to look at: whole files were removed, moved or replaced."
    for number, pointer in enumerate(document["pointers"], start=1):
        anchor = pointer["anchor"]
        yield f"### {number}. {pointer['label'].strip()}"
        yield pointer["note"].strip()
        if "look_for" in pointer:
            yield f"**Look for:** {pointer['look_for'].strip()}"
        yield template.format(
            slug=slug,
            sha=sha,
            path=quote(anchor["path"]),
            first=anchor["from"],
            last=anchor["to"],
        )


def render_fold(document: Map) -> Iterator[str]:
    """Yield the blocks below the fold: decisions, remaining files, proofs."""
    files = len(document["rest"])
    yield f"<details>\n<summary>Decisions, remaining files ({files}), proofs</summary>"
    yield "### Decisions"
    decisions = [f"- **{item['choice']}** {item['because']}" for item in document["decisions"]]
    yield "\n".join(decisions) or "None worth recording."
    yield "### Remaining files"
    rest = [f"- `{item['path']}`: {item['note']}" for item in document["rest"]]
    yield "\n".join(rest) or "None."
    yield "### Proofs"
    rows = [
        "| " + " | ".join(item[key].replace("|", "\\|") for key in ("claim", "proof", "state"))
        for item in document["validation"]
    ]
    yield "\n".join(["| Claim | Proof | State |", "|---|---|---|", *(row + " |" for row in rows)])
    yield "</details>"


def render(document: Map, sha: str, slug: str, template: str) -> str:
    """Return the body; the commit enters here and is stored nowhere."""
    risks = [f"- {item['risk']} *Guard:* {item['guard']}" for item in document["risks"]]
    skipped = [item["claim"] for item in document["validation"] if item["state"] == "not run"]
    tally = f"**Proofs:** {len(document['validation']) - len(skipped)} passed"
    blocks = [
        document["summary"].strip(),
        "## Why",
        document["why"].strip(),
        "## Where to look",
        *render_pointers(document, sha, slug, template),
        "## Risks",
        "\n".join(risks) or "None known to the author.",
        f"{tally}, {len(skipped)} not run." + "".join(f"\n- Not run: {text}" for text in skipped),
        *render_fold(document),
    ]
    return "\n\n".join(blocks)
