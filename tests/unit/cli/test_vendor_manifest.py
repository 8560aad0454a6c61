"""The manifest of vendored skills: what is read, each fault with its place, pins in the text."""

from __future__ import annotations

import pytest

from skill_registry_cli.vendoring.manifest import Manifest, parse, pinned
from skill_registry_cli.vendoring.problems import VENDORING, VendoringRefused
from skill_registry_cli.vendoring.repositories import AllowedHosts

ONE, TWO = "1" * 40, "ab" * 20
HOSTS = AllowedHosts.named(())
SOURCES = (
    f"sources:\n  kit:\n    repo: https://github.com/acme/kit\n    ref: main\n    commit: {TWO}\n"
)


def read(text: str, *allowed: str) -> Manifest:
    return parse(text, AllowedHosts.named(allowed))


def faults(text: str, *allowed: str) -> list[tuple[str, int | None, str]]:
    """Return code, line and message of every fault."""
    with pytest.raises(VendoringRefused) as refused:
        read(text, *allowed)
    assert refused.value.code in VENDORING
    return [(each.code, each.line, each.message) for each in refused.value.diagnostics]


def with_skill(lines: str) -> str:
    return f"{SOURCES}skills:\n{lines}"


def test_sources_and_skills_are_read_in_order() -> None:
    manifest = read(
        with_skill(
            "  - name: b\n    source: kit\n    path: skills/b\n"
            "    agents: [review, coding, review]\n"
            "  - {name: a, local: true, agents: [' x ']}\n"
            "  - {name: root, source: kit, path: ., agents: [x], local: false}\n"
        )
    )
    source = manifest.sources["kit"]
    assert (source.repository.slug, source.ref, source.commit) == ("acme/kit", "main", TWO)
    b, a, root = manifest.entries
    assert (b.name, b.source, b.path, b.skill_md) == ("b", "kit", "skills/b", "skills/b/SKILL.md")
    assert b.agents == ("review", "coding", "review")
    assert (a.source, a.agents) == (None, ("x",))
    assert (root.source, root.skill_md) == ("kit", "SKILL.md")


def test_a_source_may_wait_for_its_first_commit() -> None:
    for commit in ("", "    commit:\n", "    commit: null\n"):
        text = f"sources:\n  kit:\n    repo: https://github.com/acme/kit/\n    ref: v1\n{commit}"
        source = read(f"{text}skills: []\n").sources["kit"]
        assert (source.commit, source.repository.url) == (None, "https://github.com/acme/kit")


def test_a_path_may_name_the_skill_md_itself() -> None:
    for path, directory in (("skills/b/SKILL.md", "skills/b"), ("SKILL.md", ""), ("b/", "b")):
        text = with_skill(f"  - {{name: b, source: kit, path: {path}, agents: [x]}}\n")
        assert read(text).entries[0].path == directory


@pytest.mark.parametrize("name", ["../up", "a/b", "Upper", "has space", "-lead", "", ".git"])
def test_a_name_that_is_no_plain_slug_is_refused(name: str) -> None:
    found = faults(with_skill(f"  - {{name: '{name}', local: true, agents: [x]}}\n"))
    assert [(code, line) for code, line, _ in found] == [("manifest_invalid", 7)]


@pytest.mark.parametrize(
    "repo",
    [
        "https://gitlab.com/acme/kit",
        "https://github.com.evil.example/acme/kit",
        "https://github.com@evil.example/acme/kit",
        "https://user:secret@github.com/acme/kit",
        "http://github.com/acme/kit",
        "git@github.com:acme/kit",
        "ssh://git@github.com/acme/kit",
        "https://github.com/acme",
        "https://github.com/acme/kit/tree/main",
        "https://github.com/acme/..",
        "https://github.com/../kit",
        "https://github.com/acme/kit?x=1",
        "https://github.com:8443/acme/kit",
        "https://[github.com/acme/kit",
        "file:///srv/kit",
        "/srv/kit",
    ],
)
def test_a_repository_elsewhere_is_refused_with_its_line(repo: str) -> None:
    found = faults(f"sources:\n  kit:\n    repo: '{repo}'\n    ref: main\nskills: []\n")
    assert [(code, line) for code, line, _ in found] == [("repository_invalid", 3)]


def test_another_host_and_this_machine_are_for_who_allows_them() -> None:
    text = "sources:\n  kit: {{repo: '{}', ref: main}}\nskills: []\n"
    enterprise = text.format("https://git.example.com/acme/kit")
    assert faults(enterprise)[0][0] == "repository_invalid"
    repository = read(enterprise, "git.example.com").sources["kit"].repository
    assert repository.api == "https://git.example.com/api/v3"
    local = read(text.format("file:///srv/a%20kit.git"), "file").sources["kit"].repository
    assert (local.origin, local.slug) == ("", "/srv/a kit")
    assert faults(text.format("file://host/srv/kit"), "file")[0][0] == "repository_invalid"
    assert faults(text.format("http://git.example.com/a/b"), "git.example.com")[0][0] == (
        "repository_invalid"
    )


@pytest.mark.parametrize("word", ["", "a b", "https://", "git.example.com/path", "ftp://x", "u@h"])
def test_a_setting_that_names_no_host_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"^") as refused:
        AllowedHosts.named((word,))
    assert refused.value.args == (word,)


@pytest.mark.parametrize(
    ("commit", "code"),
    [
        ("abcdef1", "commit_invalid"),
        (TWO.upper(), "commit_invalid"),
        (f"{TWO}0", "commit_invalid"),
        ("main", "commit_invalid"),
        (ONE, "manifest_invalid"),
        ("[a]", "manifest_invalid"),
    ],
)
def test_a_commit_is_forty_lower_case_hex_digits_as_text(commit: str, code: str) -> None:
    text = f"sources:\n  kit:\n    repo: https://github.com/a/b\n    ref: m\n    commit: {commit}\n"
    found = faults(f"{text}skills: []\n")
    assert [(each[0], each[1]) for each in found] == [(code, 5)]


def test_a_commit_of_digits_alone_is_text_in_quotes() -> None:
    text = f"sources:\n  k:\n    repo: https://github.com/a/b\n    ref: m\n    commit: '{ONE}'\n"
    assert read(f"{text}skills: []\n").sources["k"].commit == ONE


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ("  - {name: b, source: other, path: b, agents: [x]}\n", ["source_undeclared"]),
        (
            "  - {name: b, local: true, agents: [x]}\n  - {name: b, local: true, agents: [x]}\n",
            ["manifest_duplicate"],
        ),
        ("  - {name: b, source: kit, path: b}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, path: b, agents: x}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, path: b, agents: []}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, path: b, agents: [' ']}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, path: b, agents: [1]}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, path: b, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, agents: [x]}\n", ["manifest_invalid"] * 2),
        ("  - {name: b, local: true, source: kit, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, local: true, path: b, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, local: 'true', agents: [x]}\n", ["manifest_invalid"] * 3),
        ("  - {name: b, source: kit, path: ../b, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, path: /b, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, source: kit, path: 'a\\b', agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, sauce: kit, local: true, agents: [x]}\n", ["manifest_invalid"]),
        ("  - {name: b, name: c, local: true, agents: [x]}\n", ["manifest_duplicate"]),
        ("  - b\n", ["manifest_invalid"] * 5),
        ("  b: c\n", ["manifest_invalid"]),
    ],
)
def test_each_fault_of_an_entry_is_named(lines: str, codes: list[str]) -> None:
    found = faults(with_skill(lines))
    assert [code for code, _, _ in found] == codes
    assert all(line in {7, 8} for _, line, _ in found)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "manifest_invalid", None),
        ("# nothing\n", "manifest_invalid", None),
        ("- a\n", "manifest_invalid", 1),
        ("text\n", "manifest_invalid", 1),
        ("skills: []\n", "manifest_invalid", 1),
        ("sources: {}\n", "manifest_invalid", 1),
        ("sources: []\nskills: []\n", "manifest_invalid", 1),
        ("sources: {}\nskills: []\nmore: 1\n", "manifest_invalid", 3),
        ("sources: {}\nskills: []\nsources: {}\n", "manifest_duplicate", 3),
        ("sources:\n  a: 1\nskills: []\n", "manifest_invalid", 2),
        ("sources:\n\ta: {}\nskills: []\n", "manifest_syntax", 2),
        ("sources: {\nskills: []\n", "manifest_syntax", None),
        ("sources: {}\n---\nskills: []\n", "manifest_syntax", 2),
        ("sources: *x\nskills: []\n", "manifest_syntax", 1),
        ("sources: {}\nskills: []\n\x00", "manifest_syntax", None),
        ("[" * 3000, "manifest_syntax", None),
    ],
)
def test_what_is_no_manifest_is_refused(text: str, code: str, line: int | None) -> None:
    found = faults(text)
    assert found[0][0] == code
    assert line is None or found[0][1] == line


def test_a_tab_is_named_with_its_remedy() -> None:
    with pytest.raises(VendoringRefused) as refused:
        read("sources:\n  a:\n\trepo: x\nskills: []\n")
    assert refused.value.diagnostics[0].hint == "Indent with blanks, not with tabs."


def test_all_faults_are_told_at_once() -> None:
    text = (
        "sources:\n  a: {repo: x, ref: 1}\n"
        "skills:\n  - {name: A, local: true, agents: [x]}\n  - {name: b, source: c, agents: []}\n"
    )
    codes = [code for code, _, _ in faults(text)]
    assert sorted(codes) == [
        "manifest_invalid",
        "manifest_invalid",
        "manifest_invalid",
        "manifest_invalid",
        "repository_invalid",
        "source_undeclared",
    ]


LAYOUTS = {
    "no commit yet": (
        "# top\nsources:\n  kit:  # ours\n    repo: https://github.com/a/b # where\n"
        "    ref: main   # follow\n\nskills: [] # none\n",
        "# top\nsources:\n  kit:  # ours\n    repo: https://github.com/a/b # where\n"
        f"    ref: main   # follow\n    commit: {TWO}\n\nskills: [] # none\n",
    ),
    "another commit": (
        f"sources:\n  kit:\n    commit: '{ONE}'  # pinned\n    repo: https://github.com/a/b\n"
        "    ref: 'main'\nskills: []",
        f"sources:\n  kit:\n    commit: {TWO}  # pinned\n    repo: https://github.com/a/b\n"
        "    ref: 'main'\nskills: []",
    ),
    "an empty commit": (
        "sources:\n  kit:\n    commit:\n    repo: https://github.com/a/b\n    ref: m\nskills: []\n",
        f"sources:\n  kit:\n    commit: {TWO}\n    repo: https://github.com/a/b\n    ref: m\n"
        "skills: []\n",
    ),
    "in braces": (
        "sources: {kit: {repo: 'https://github.com/a/b', ref: m}} # c\nskills: []\n",
        f"sources: {{kit: {{repo: 'https://github.com/a/b', ref: m, commit: {TWO}}}}} # c\n"
        "skills: []\n",
    ),
    "CRLF": (
        "sources:\r\n  kit:\r\n    repo: https://github.com/a/b\r\n    ref: m # x\r\n"
        "skills: []\r\n",
        "sources:\r\n  kit:\r\n    repo: https://github.com/a/b\r\n    ref: m # x\r\n"
        f"    commit: {TWO}\r\nskills: []\r\n",
    ),
    "the last line": (
        "skills: []\nsources:\n  kit:\n    repo: https://github.com/a/b\n    ref: m",
        "skills: []\nsources:\n  kit:\n    repo: https://github.com/a/b\n    ref: m\n"
        f"    commit: {TWO}",
    ),
    "a block of text": (
        "sources:\n  kit:\n    repo: https://github.com/a/b\n    ref: >-  # folded\n      main\n"
        "skills: []\n",
        f"sources:\n  kit:\n    repo: https://github.com/a/b\n    commit: {TWO}\n"
        "    ref: >-  # folded\n      main\nskills: []\n",
    ),
    "CR alone": (
        "sources:\r  kit:\r    repo: https://github.com/a/b\r    ref: m # x\rskills: []\r",
        "sources:\r  kit:\r    repo: https://github.com/a/b\r    ref: m # x\r"
        f"    commit: {TWO}\rskills: []\r",
    ),
    "a byte-order mark": (
        "\ufeffsources:\n  kit:\n    ref: m\n    repo: https://github.com/a/b\nskills: []\n",
        f"\ufeffsources:\n  kit:\n    ref: m\n    commit: {TWO}\n    repo: https://github.com/a/b\n"
        "skills: []\n",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pin_changes_one_line_and_keeps_every_comment(layout: str) -> None:
    before, after = LAYOUTS[layout]
    text = pinned(read(before), {"kit": TWO}, HOSTS)
    assert text == after
    assert pinned(read(text), {"kit": TWO}, HOSTS) == text


def test_a_commit_of_digits_alone_is_pinned_in_quotes() -> None:
    text = pinned(read(f"{SOURCES}skills: []\n"), {"kit": ONE}, HOSTS)
    assert f'commit: "{ONE}"' in text
    almost = "1" * 20 + "e" + "2" * 19
    assert f'commit: "{almost}"' in pinned(read(text), {"kit": almost}, HOSTS)


def test_a_source_that_cannot_be_changed_in_place_is_refused() -> None:
    text = (
        "sources:\n  kit: &kit\n    repo: https://github.com/a/b\n    ref: |\n      main\n"
        "    commit: !!str |\n      " + TWO + "\nskills: []\n"
    )
    manifest = read(text)
    assert manifest.sources["kit"].ref == "main"
    with pytest.raises(VendoringRefused) as refused:
        pinned(manifest, {"kit": "c" * 40}, HOSTS)
    [found] = refused.value.diagnostics
    assert (found.code, found.file, found.line) == ("manifest_invalid", "manifest.yaml", 2)
    assert "the source kit" in found.message


def test_two_sources_that_are_one_in_the_text_are_pinned_alike_or_refused() -> None:
    text = "sources:\n  a: &a\n    repo: https://github.com/a/b\n    ref: m\n  b: *a\nskills: []\n"
    both = pinned(read(text), {"a": TWO, "b": TWO}, HOSTS)
    assert both == text.replace("ref: m\n", f"ref: m\n    commit: {TWO}\n")
    with pytest.raises(VendoringRefused, match="cannot be pinned in place"):
        pinned(read(text), {"a": TWO, "b": "c" * 40}, HOSTS)


@pytest.mark.parametrize(
    ("value", "kind"),
    [("2024-01-01", "a date"), ("no", "true or false"), ("1.0", "a number"), ("0x1f", "a number")],
)
def test_what_yaml_takes_for_something_else_is_to_be_put_in_quotes(value: str, kind: str) -> None:
    text = SOURCES.replace("ref: main", f"ref: {value}") + "skills: []\n"
    with pytest.raises(VendoringRefused) as refused:
        read(text)
    [found] = refused.value.diagnostics
    assert found.message == f'The source "kit": ref is {kind}; it must be text.'
    assert found.hint == "Put it in quotes."
    quoted = SOURCES.replace("ref: main", f"ref: '{value}'") + "skills: []\n"
    assert read(quoted).sources["kit"].ref == value


def test_an_unknown_key_hides_no_other_fault() -> None:
    text = SOURCES.replace("ref: main", "ref: main\n    branch: x") + "skils: []\n"
    assert [(code, line) for code, line, _ in faults(text)] == [
        ("manifest_invalid", 7),
        ("manifest_invalid", 5),
        ("manifest_invalid", 1),
    ]


@pytest.mark.parametrize(
    "start",
    [
        "https://somebody:secret@",
        "https://secret@",
        "https:/somebody:secret@",
        "https://somebody:sec/ret@",
        "https://some@body:secret@[",
        "https://somebody:secret%40",
        "file://somebody:secret@",
        "somebody:secret@",
    ],
)
def test_a_password_in_an_address_is_not_repeated(start: str) -> None:
    text = SOURCES.replace("https://", start) + "skills: []\n"
    [(code, _, message)] = faults(text)
    assert (code, "ret" in message) == ("repository_invalid", False)
    assert "whose address has an @" in message
