"""``./scripts/fuzz``: it finds what is broken, says it again, and takes our errors for answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fuzzing.__main__ import main
from fuzzing.campaign import Campaign, Finding, Target
from fuzzing.inputs import archives, frontmatter
from fuzzing.targets import check_text

from skill_registry.errors import SkillInvalid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def campaign(check: Callable[[bytes], None], *, looks: int = 400, seed: int = 7) -> Finding | None:
    """Run one that ends after a number of inputs, not of seconds."""
    left = iter(range(looks))
    target = Target(frontmatter(), check)
    return Campaign({"text": target}, seed, lambda: next(left, None) is not None).run()


def dislike_tabs(data: bytes) -> None:
    if b"\t" in data:
        raise ValueError("a tab")


def test_a_broken_target_is_found_with_an_input_that_breaks_it() -> None:
    finding = campaign(dislike_tabs)
    assert finding is not None
    assert (finding.target, finding.reason) == ("text", "ValueError: a tab")
    with pytest.raises(ValueError, match="a tab"):
        dislike_tabs(finding.data)


def test_the_same_seed_finds_the_same_input() -> None:
    assert campaign(dislike_tabs) == campaign(dislike_tabs)


def test_errors_of_ours_are_answers() -> None:
    def refuse(data: bytes) -> None:
        raise SkillInvalid("no")

    assert campaign(refuse, looks=30) is None


def test_a_sound_target_is_not_complained_about() -> None:
    assert campaign(check_text, looks=60) is None


def test_most_inputs_are_read_further_than_their_first_byte() -> None:
    for source, start in ((frontmatter(), b"---"), (archives(), b"PK")):
        variants = [v for data in source.seeds for v in source.variants(data, 5)]
        assert sum(variant.startswith(start) for variant in variants) > len(variants) / 3


def test_variants_of_an_input_are_always_the_same() -> None:
    source = archives()
    assert list(source.variants(b"x", 20)) == list(source.variants(b"x", 20))


def test_a_finding_is_kept_in_a_file_and_said_how_to_get_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    targets = {"frontmatter": Target(frontmatter(), dislike_tabs)}
    assert main(["--seconds", "60", "--seed", "3"], targets, tmp_path) == 1
    out = capsys.readouterr().out
    (kept,) = tmp_path.iterdir()
    assert f"again: ./scripts/fuzz --target frontmatter --replay {kept}" in out
    assert "seed 3" in out
    with pytest.raises(ValueError, match="a tab"):
        main(["--replay", str(kept)], targets)


def test_one_input_can_be_checked_again(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"---\nname: x\n---\n")
    assert main(["--replay", str(tmp_path / "input")]) == 0


@pytest.mark.parametrize("arguments", [["--seconds", "0"], ["--seconds", "x"], ["--target", "x"]])
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
