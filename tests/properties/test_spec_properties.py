"""What holds of the format for every input."""

from __future__ import annotations

import json
import posixpath
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from zips import make_zip, skill_text

from skill_registry.errors import FileNotFound, PathInvalid
from skill_registry.spec.archive import (
    content_digest,
    read_archive,
    read_revision,
    write_archive,
)
from skill_registry.spec.budget import estimated_tokens, fit
from skill_registry.spec.frontmatter import body_of, read_document
from skill_registry.spec.model import SkillFile
from skill_registry.spec.names import check_path, check_skill_name, clean_path, is_skill_name
from skill_registry.spec.rendering import XML_ELEMENT, ListedSkill, render, render_markdown
from skill_registry.spec.text import one_line
from skill_registry.spec.validation import check_contents, check_skill, read_skill

_TEXT = st.text(st.characters(codec=None), max_size=200)
_PIECES = st.sampled_from(
    ["a", "b", "..", ".", "", "/", "\\", "%2e", "%2f", "%00", "\x00", "\n", "C:", "é", "e\u0301"]
)
_PATHISH = st.lists(_PIECES, max_size=8).map("".join) | _TEXT
_PLAIN = st.text("abcXYZ09 _-.é茶", min_size=1, max_size=12).filter(
    lambda text: check_path(text) == [] and not text.startswith("._")
)
_LINES = st.sampled_from(
    [
        "---",
        "--- ",
        "----",
        "name: bean-pots",
        "name: [a]",
        "description: Grows beans: in pots.",
        "description: |",
        "  more: text",
        "description: @x",
        'description: "x" y',
        "\tx: y",
        "metadata: {a: [b, *c]}",
        "a: &c d",
        "? [a]",
        ": b",
        "agents: []",
        "<!-- x -->",
        "",
        "\ufeff",
        "x\x00",
        "...",
        "k: !!python/name:os.system",
    ]
)
_DOCUMENTS = st.tuples(st.lists(_LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r"])).map(
    lambda parts: parts[1].join(parts[0]).encode()
)


@given(_PATHISH)
def test_a_clean_path_stays_inside_its_skill(path: str) -> None:
    try:
        cleaned = clean_path(path)
    except (PathInvalid, FileNotFound):
        return
    root = "/skills/system/bean-pots"
    assert posixpath.normpath(posixpath.join(root, cleaned)) == f"{root}/{cleaned}"
    assert "\x00" not in cleaned
    assert "\\" not in cleaned


@given(_PATHISH)
def test_a_checked_path_stays_inside_its_skill(path: str) -> None:
    if not check_path(path):
        assert posixpath.normpath(f"/skill/{path}") == f"/skill/{path}"
        path.encode()


@given(_TEXT)
def test_a_name_is_legal_exactly_when_no_rule_is_broken(name: str) -> None:
    broken = {found.code for found in check_skill_name(name)} - {"name_reserved"}
    assert is_skill_name(name) == (not broken)


@given(_DOCUMENTS | st.binary(max_size=300))
def test_no_bytes_make_reading_a_skill_raise(data: bytes) -> None:
    for tolerant in (False, True):
        document = read_document(data, tolerant=tolerant)
        json.dumps(document.mapping)
        json.dumps([found.to_dict() for found in document.diagnostics])
        assert document.body == body_of(data) or document.body_offset == 0
    read_skill(data, directory="bean-pots")
    report = check_skill([SkillFile("SKILL.md", data)], name="bean-pots")
    assert report.ok or report.diagnostics


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_quoted_description_is_read_as_it_was_meant(description: str, body: str) -> None:
    quoted = json.dumps(description)
    text = f"---\nname: bean-pots\ndescription: {quoted}\n---\n{body}"
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    document = read_document(data)
    if document.mapping is not None:
        assert document.mapping["description"] == description
    assert document.body.encode() == body.encode()


@given(
    st.dictionaries(_PLAIN, st.tuples(st.binary(max_size=2_000), st.booleans()), max_size=6).filter(
        lambda files: len({path.casefold() for path in files}) == len(files)
    )
)
def test_an_archive_comes_back_as_it_was_packed(files: dict[str, tuple[bytes, bool]]) -> None:
    skill = [SkillFile("SKILL.md", skill_text())]
    skill += [SkillFile(f"assets/{path}", data, run) for path, (data, run) in files.items()]
    data = write_archive(skill)
    expected = sorted(skill, key=lambda file: file.path.encode())
    contents = read_archive(data)
    assert list(contents.files) == expected
    assert contents.diagnostics == ()
    assert list(read_revision(data)) == expected
    assert write_archive(read_revision(data)) == data
    assert content_digest(read_revision(data)) == content_digest(skill)


@given(st.binary(max_size=400))
def test_no_bytes_make_reading_an_archive_raise(data: bytes) -> None:
    assert read_archive(data).diagnostics


@given(st.data())
def test_no_damage_makes_reading_an_archive_raise(data: st.DataObject) -> None:
    whole = make_zip(("k/SKILL.md", skill_text(), {}), ("k/a.md", b"text " * 40, {}))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    report = check_contents(read_archive(bytes(damaged)), name=None)
    assert report.ok or report.diagnostics


@given(st.lists(st.tuples(_TEXT, _TEXT), max_size=5))
def test_a_listing_has_one_entry_a_skill(texts: list[tuple[str, str]]) -> None:
    skills = [ListedSkill(name, 1, description) for name, description in texts]
    markdown = render_markdown(skills)
    assert len(markdown.splitlines()) == len(skills)
    assert all(line.startswith("- **") for line in markdown.splitlines())
    root = ElementTree.fromstring(render(skills, XML_ELEMENT))
    assert len(root) == len(skills)
    assert [skill[1].text or "" for skill in root] == [one_line(text) for _, text in texts]


@given(_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    folded = one_line(text)
    assert one_line(folded) == folded
    assert len(folded.splitlines()) <= 1
    folded.encode()


@given(st.lists(_TEXT, max_size=6), st.integers(1, 200))
def test_a_listing_fits_its_budget_or_says_what_is_missing(texts: list[str], tokens: int) -> None:
    skills = [ListedSkill(f"skill-{n}", 1, text) for n, text in enumerate(texts)]
    fitted = fit(skills, tokens)
    rendered = render_markdown(fitted.skills)
    assert estimated_tokens(rendered) <= tokens
    assert len(rendered.splitlines()) == len(fitted.skills) == len(skills) - fitted.omitted
    cut = [a for a, b in zip(fitted.skills, skills, strict=False) if a != b]
    assert all(skill.description.endswith("…") for skill in cut)
    assert len(cut) == fitted.shortened
