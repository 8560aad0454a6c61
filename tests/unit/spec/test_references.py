"""References in a SKILL.md: what leads nowhere is warned about, what is no reference is not."""

from __future__ import annotations

import pytest

from skill_registry.spec.model import Severity, SkillFile
from skill_registry.spec.references import MOST_TOLD
from skill_registry.spec.validation import check_skill

HEAD = "---\nname: dyes\ndescription: Mixes dyes.\n---\n"


def told(body: str, *others: str) -> list[tuple[str, int | None, int | None]]:
    files = [SkillFile("SKILL.md", (HEAD + body).encode())]
    files += [SkillFile(path, b"x") for path in others]
    report = check_skill(files, name="dyes")
    assert report.ok
    assert all(d.severity is Severity.WARNING for d in report.diagnostics)
    return [(d.code, d.line, d.column) for d in report.diagnostics]


def test_paths_that_lie_in_the_skill_are_not_told() -> None:
    body = (
        "Read [colours](references/colours.md#red), [all](./docs/), docs/schema.md, ./conf.json.\n"
        "Run `python scripts/mix.py` or scripts/mix.py.\n"
    )
    files = ("references/colours.md", "docs/schema.md", "conf.json", "scripts/mix.py")
    assert told(body, *files) == []


@pytest.mark.parametrize(
    "body",
    [
        "See https://example.org/references/a.md and [site](https://example.org/x.md).\n",
        "Write to ~/references/a.md, /references/b.md, $HOME/references/c.md.\n",
        "Run <dir>/scripts/d.py.\n",
        "Edit src/app.ts, package.json and node_modules/x/index.js of the project.\n",
        "[top](#steps), [mail](mailto:a@b.c), [pattern](references/*.md)\n",
        "[text](url), C[=O](=[O:2]), [a](https://a.b/c.md), [b](/etc/x.md), [c](~/x.md)\n",
        "Version 1.2.3, e.g. this, and so on etc.\n",
    ],
)
def test_what_is_no_path_inside_the_skill_is_not_told(body: str) -> None:
    assert told(body, "forms.md") == []


def test_a_missing_file_is_told_once_with_its_place() -> None:
    body = "One\nSee resources/playbook.md, and again resources/playbook.md.\n[x](gone.md)\n"
    assert sorted(told(body)) == [("reference_missing", 6, 5), ("reference_missing", 7, 5)]


def test_a_file_in_another_letter_case_is_told_wherever_it_is_named() -> None:
    assert told("Forms are in FORMS.md.\n", "forms.md") == [("reference_case", 5, 14)]


def test_many_are_cut_and_hostile_texts_come_to_an_end() -> None:
    many = "".join(f"[x](gone-{n}.md)\n" for n in range(100))
    assert len(told(many)) == MOST_TOLD
    for body in (
        "](" * 50_000,
        "[a](<" * 90_000,
        "![a](x" * 80_000,
        "a/" * 100_000,
        "[x](" + "a" * 200_000,
        "a-" * 100_000 + ".md",
    ):
        assert told(body) == []
