"""What a sync writes into a SKILL.md, and the two digests: of the body, and of all files."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skill_registry.spec.fences import body_of
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import SkillFile
from skill_registry.spec.validation import check_skill
from skill_registry_cli.vendoring.digests import digest_of_files, digests, upstream_block
from skill_registry_cli.vendoring.manifest import Entry, Source
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.rendering import rendered
from skill_registry_cli.vendoring.repositories import AllowedHosts, Repository

ONES = "1" * 40
UPSTREAM = (
    b"---\nname: review-sql\ndescription: Reviews SQL. Use when a query changes.\nlicense: MIT\n"
    b"metadata:\n  author: acme\n---\n\n# Review\n\nDo it.\n"
)


def repository() -> Repository:
    found = AllowedHosts().repository("https://github.com/acme/kit")
    assert found is not None
    return found


def source(commit: str | None = ONES) -> Source:
    return Source("kit", repository(), "main", commit)


def entry(name: str = "review-sql", agents: tuple[str, ...] = ("reviewer",)) -> Entry:
    return Entry(name, agents, "kit", f"skills/{name}")


def skill_md(data: bytes, **more: Any) -> bytes:
    """Return the SKILL.md that a sync makes of an upstream's."""
    files = rendered(more.pop("entry", entry()), source(), [SkillFile("SKILL.md", data)])
    return files[0].data


def frontmatter(data: bytes) -> dict[str, Any]:
    """Read a frontmatter as another reader of YAML does."""
    loaded = yaml.safe_load(data.split(b"---")[1])
    assert isinstance(loaded, dict)
    return loaded


def test_upstream_keeps_its_keys_and_gets_agents_source_and_provenance() -> None:
    data = skill_md(UPSTREAM)
    block = frontmatter(data)
    assert list(block) == [
        *("name", "description", "license", "metadata"),
        *("agents", "source", "upstream"),
    ]
    assert block["agents"] == ["reviewer"]
    assert block["source"] == (
        f"https://github.com/acme/kit/blob/{ONES}/skills/review-sql/SKILL.md"
    )
    body = b"# Review\n\nDo it."
    assert block["upstream"] == {
        "repo": "https://github.com/acme/kit",
        "commit": ONES,
        "path": "skills/review-sql/SKILL.md",
        "bodySha256": hashlib.sha256(body).hexdigest(),
        "filesSha256": digest_of_files(digests([SkillFile("SKILL.md", UPSTREAM)]).files),
    }
    assert data.endswith(b"---\n\n# Review\n\nDo it.\n")


def test_a_rendered_skill_is_one_that_a_publish_takes() -> None:
    report = check_skill([SkillFile("SKILL.md", skill_md(UPSTREAM))], name="review-sql")
    assert report.diagnostics == ()
    assert report.meta is not None and report.meta.upstream is not None
    assert report.meta.upstream["commit"] == ONES


def test_agents_of_the_upstream_give_way_to_ours() -> None:
    data = UPSTREAM.replace(
        b"license: MIT\n",
        b"agents:\n- one\n-  two\n\n'source': >-\n  here\n\n  there\nlicense: MIT # yes\n"
        b'"upstream": {a: b}\n# about metadata\n',
    )
    text = skill_md(data, entry=entry(agents=("1x", "on", "Team A", "coding")))
    assert frontmatter(text)["agents"] == ["1x", "on", "Team A", "coding"]
    assert b"license: MIT # yes\n# about metadata\nmetadata:\n" in text
    assert b"one" not in text and b"there" not in text
    assert frontmatter(text)["source"].startswith("https://")


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_lines_end_as_the_upstreams_do(newline: bytes) -> None:
    data = UPSTREAM.replace(b"\n", newline)
    text = skill_md(data)
    assert text.replace(newline, b"").count(b"\n") == text.replace(newline, b"").count(b"\r") == 0
    assert text.endswith(body_of(data).encode())


def test_a_byte_order_mark_and_margins_of_the_body_stay() -> None:
    data = b"\xef\xbb\xbf" + UPSTREAM + b"\n\n"
    text = skill_md(data)
    assert text.startswith(b"\xef\xbb\xbf---\n")
    assert text.endswith(b"Do it.\n\n\n")


def test_a_frontmatter_that_needs_a_repair_is_kept_as_it_is() -> None:
    data = UPSTREAM.replace(b"Reviews SQL. Use", b"Reviews SQL: use")
    text = skill_md(data)
    assert b"description: Reviews SQL: use when" in text
    mapping = read_document(text, tolerant=True).mapping
    assert mapping is not None and mapping["agents"] == ["reviewer"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (UPSTREAM.replace(b"name: review-sql", b"name: review-database"), "skill_renamed"),
        (UPSTREAM.replace(b"name: review-sql\n", b""), "skill_renamed"),
        (UPSTREAM.replace(b"description", b"about"), "skill_unusable"),
        (b"# no frontmatter\n", "skill_unusable"),
        (b"---\nname: [\n---\nx\n", "skill_unusable"),
        (b"---\n{name: review-sql, description: In braces.}\n---\nx\n", "skill_unusable"),
        (b"", "skill_unusable"),
    ],
)
def test_an_upstream_that_cannot_be_taken_over_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(VendoringRefused) as refused:
        skill_md(data)
    assert refused.value.code == code
    assert refused.value.diagnostics[0].file == "skills/review-sql/SKILL.md"


def test_a_local_entry_and_an_unpinned_source_are_not_rendered() -> None:
    files = [SkillFile("SKILL.md", UPSTREAM)]
    with pytest.raises(VendoringRefused) as local:
        rendered(Entry("review-sql", ("x",)), source(), files)
    with pytest.raises(VendoringRefused) as unpinned:
        rendered(entry(), source(None), files)
    assert (local.value.code, unpinned.value.code) == ("skill_unusable", "source_unpinned")


def test_other_files_pass_through_byte_for_byte() -> None:
    files = [
        SkillFile("SKILL.md", UPSTREAM),
        SkillFile("a.bin", bytes(range(256))),
        SkillFile("run.sh", b"#!/bin/sh\r\n", executable=True),
    ]
    assert rendered(entry(), source(), files)[1:] == tuple(files[1:])


def test_the_digest_of_a_body_is_over_what_seed_2_trims() -> None:
    def body_digest(body: str) -> str:
        text = f"---\nname: a\n---\n{body}".encode()
        return digests([SkillFile("SKILL.md", text)]).body

    plain = hashlib.sha256(b"x").hexdigest()
    for margin in ("\n", "\r\n\t ", "\ufeff", "\xa0", "\u2028", "\u3000\u2003"):
        assert body_digest(f"{margin}x{margin}") == plain, ascii(margin)
    for kept in ("\x1c", "\x1f", "\x85", "\u200b"):
        assert body_digest(f"{kept}x") == hashlib.sha256(f"{kept}x".encode()).hexdigest()
    assert body_digest("a\r\nb") != body_digest("a\nb")


def test_the_digest_of_all_files_is_the_same_upstream_and_here() -> None:
    files = [SkillFile("SKILL.md", UPSTREAM), SkillFile("a", b"x", executable=True)]
    here = rendered(entry(), source(), files)
    assert digests(here) == digests(files)
    for changed in (
        SkillFile("a", b"x"),
        SkillFile("a", b"y", executable=True),
        SkillFile("b", b"x", executable=True),
    ):
        assert digests([here[0], changed]).files != digests(files).files
    edited = SkillFile("SKILL.md", here[0].data.replace(b"Reviews SQL.", b"Runs SQL."))
    assert digests([edited, files[1]]).body == digests(files).body
    assert digests([edited, files[1]]).files != digests(files).files


KEYS = st.sampled_from(["name", "agents", "source", "upstream", "license", "x-agents", "agent"])
VALUES = st.sampled_from(
    ["plain", "[a, b]", "\n- a\n- b", "\n  - a\n\n  - b", ">-\n  folded\n\n  text", "{a: b}",
     "\n  deep:\n    er: x", "'quoted'", "", " # comment"]
)  # fmt: skip


@given(st.lists(st.tuples(KEYS, VALUES), max_size=6, unique_by=lambda pair: pair[0]))
def test_exactly_our_keys_are_taken_out_of_any_plain_frontmatter(
    pairs: list[tuple[str, str]],
) -> None:
    block = "".join(f"{key}: {value}\n" for key, value in pairs)
    kept = upstream_block(f"---\n{block}---\nbody\n".encode()).decode()
    whole = yaml.safe_load(block) or {}
    for key in ("agents", "source", "upstream"):
        whole.pop(key, None)
    assert (yaml.safe_load(kept) or {}) == whole
    assert [line for line in block.splitlines() if line in kept.splitlines()] or not kept
