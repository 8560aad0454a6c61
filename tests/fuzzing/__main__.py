"""The command line of ``./scripts/fuzz``. Exit status: 0 nothing found, 1 something, 2 usage."""

from __future__ import annotations

import argparse
import hashlib
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzing.campaign import MOST_GROWTH, MOST_SECONDS, Campaign, Finding, Target
from fuzzing.inputs import archives, frontmatter
from fuzzing.targets import check_archive, check_text

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).resolve().parents[2] / ".local" / "fuzz"

TARGETS = {
    "frontmatter": Target(frontmatter(), check_text),
    "archive": Target(archives(), check_archive),
}


def main(
    arguments: list[str], targets: Mapping[str, Target] = TARGETS, folder: Path = FOLDER
) -> int:
    """Run a campaign for some seconds, or one input again; keep what is found in the folder."""
    given = _parser().parse_args(arguments)
    targets = {name: targets[name] for name in given.target or targets}
    if given.replay is not None:
        for target in targets.values():
            target.check(given.replay.read_bytes())
        print("Nothing is wrong with this input.")
        return 0
    end = time.monotonic() + given.seconds
    campaign = Campaign(targets, given.seed, lambda: time.monotonic() < end)
    finding = campaign.run()
    for name, watch in campaign.watches.items():
        print(f"{name}: {watch.count} inputs, the slowest took {watch.slowest[0]:.3f} s")
    print(
        f"memory grew by {campaign.growth / 2**20:.1f} MiB (at most {MOST_GROWTH // 2**20}, and"
        f" {MOST_SECONDS:g} s an input); seed {given.seed}"
    )
    if finding is None:
        print("Nothing found.")
        return 0
    _tell(finding, folder)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./scripts/fuzz",
        description="Feed damaged SKILL.md files and archives to the format until time is over.",
    )
    parser.add_argument("--seconds", type=_positive, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), metavar="N")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="only this one")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="check this input and no other")
    return parser


def _positive(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise ValueError(text)
    return seconds


def _tell(finding: Finding, folder: Path) -> None:
    """Keep the input in a file, and say how to get it again."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(finding.data).hexdigest()[:12]
    path = folder / f"{finding.target}-{digest}.bin"
    path.write_bytes(finding.data)
    print(f"FOUND in {finding.target}: {finding.reason}")
    if len(finding.data) <= 2_000:
        print(f"input: {finding.data!r}")
    print(f"again: ./scripts/fuzz --target {finding.target} --replay {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
