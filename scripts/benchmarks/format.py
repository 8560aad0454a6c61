"""``bench format``: what a publish makes of real skills, and how fast their text is read."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from benchmarks.judging import find_skills, judge
from benchmarks.look_alikes import read_look_alikes, write_look_alike
from benchmarks.report import Report
from local_stack.virtualenvs import PROJECT
from skill_registry.spec.fences import split
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import SKILL_MD
from skill_registry.spec.validation import read_skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.judging import Judged

TEXTS = 1_000
ROUNDS = 15
TARGET = 2.0


def run(corpus: Path | None = None) -> list[Report]:
    """Judge every skill of a folder; without one, the bundled skills and the look-alikes."""
    with tempfile.TemporaryDirectory() as made:
        if corpus is None:
            for case in read_look_alikes():
                write_look_alike(case, Path(made))
        folders = [corpus] if corpus is not None else [PROJECT / "skills", Path(made)]
        skills = [directory for folder in folders for directory in find_skills(folder)]
        if not skills:
            raise SystemExit(f"There is no skill in {corpus}.")
        judged = [judge(directory) for directory in skills]
        texts = [_skill_md(directory) for directory in skills]
        return [_outcomes(judged), _speed(texts)]


def _skill_md(directory: Path) -> bytes:
    names = (entry for entry in directory.iterdir() if entry.name.lower() == SKILL_MD.lower())
    return min(names).read_bytes()


def _outcomes(judged: Sequence[Judged]) -> Report:
    changed = [f"{one.directory}: {path}" for one in judged for path in one.changed]
    if changed:
        raise SystemExit("\n".join(("Accepted files came back changed:", *changed)))
    plain = [one for one in judged if one.accepted and not one.warnings]
    warned = [one for one in judged if one.accepted and one.warnings]
    refused = [one for one in judged if not one.accepted]
    rows: list[tuple[str, str, int]] = [("accepted", "", len(plain))]
    rows.append(("accepted with warnings", "", len(warned)))
    rows += _by_code("", (one.warnings for one in warned))
    rows.append(("refused", "", len(refused)))
    rows += _by_code("", (one.errors for one in refused))
    files = sum(one.files for one in judged)
    return Report(
        f"{len(judged)} skills at the publish door",
        f"A skill counts once for each of its codes. All {files} files of the accepted ones came"
        " back bit for bit.",
        ("outcome", "code", "skills"),
        tuple(rows),
    )


def _by_code(outcome: str, codes: Iterable[frozenset[str]]) -> list[tuple[str, str, int]]:
    counts = Counter(code for each in codes for code in each)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(outcome, code, count) for code, count in ordered]


def _speed(texts: Sequence[bytes]) -> Report:
    """Compare reading with a bare YAML loader that is given the blocks alone."""
    read = list(itertools.islice(itertools.cycle(texts), TEXTS))
    blocks = [block for data in read if (block := _block(data)) is not None]
    named = [(data, _name(data)) for data in read]
    calls: dict[str, Callable[[], object]] = {
        "yaml.CSafeLoader on the blocks": lambda: [_load(block) for block in blocks],
        f"read_document (at most {TARGET:g})": lambda: [read_document(data) for data in read],
        "read_skill: every field as well": lambda: [
            read_skill(data, directory=name) for data, name in named
        ],
    }
    taken: dict[str, list[float]] = {label: [] for label in calls}
    for _ in range(ROUNDS):
        for label, call in calls.items():
            # Of the processor, because none of them waits for anything.
            start = time.process_time()
            call()
            taken[label].append(time.process_time() - start)
    medians = {label: statistics.median(times) for label, times in taken.items()}
    floor = next(iter(medians.values()))
    return Report(
        f"Reading {len(read)} SKILL.md files",
        f"Medians of processor time over {ROUNDS} interleaved rounds.",
        ("reader", "ms", "ratio"),
        tuple((label, median * 1000, median / floor) for label, median in medians.items()),
    )


def _block(data: bytes) -> str | None:
    cut = split(data)
    return data[cut.start : cut.end].decode("utf-8", "replace") if cut.fault is None else None


def _load(block: str) -> object:
    try:
        return yaml.load(block, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return None


def _name(data: bytes) -> str:
    name = (read_document(data, tolerant=True).mapping or {}).get("name")
    return name if isinstance(name, str) and name else "unnamed"
