"""A pin in the text of a manifest, however that is written: all else stays, or nothing is done."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skill_registry_cli.vendoring.manifest import parse, pinned
from skill_registry_cli.vendoring.problems import VendoringRefused
from skill_registry_cli.vendoring.repositories import AllowedHosts

HOSTS = AllowedHosts()
COMMITS = st.sampled_from(["a" * 40, "1" * 40, "1" * 20 + "e" + "2" * 19])
SCALARS = [
    "{0}",
    "'{0}'",
    '"{0}"',
    "{0}  # why",
    ">-\n      {0}",
    "|-\n      {0}",
    "&x {0}",
    "!!str {0}",
]


@st.composite
def sources(draw: st.DrawFn, key: str) -> str:
    """Write a source in one of the ways that YAML has for it."""
    members = {
        "repo": f"https://github.com/acme/{key}",
        "ref": draw(st.sampled_from(["main", "v1"])),
    }
    if draw(st.booleans()):
        members["commit"] = draw(st.sampled_from(["b" * 40, ""]))
    order = draw(st.permutations(sorted(members)))
    if draw(st.integers(0, 3)) == 0:
        inner = ", ".join(f"{name}: {members[name] or 'null'}" for name in order)
        return f"  {key}: {{{inner}}}\n"
    lines = ""
    for name in order:
        form = (
            draw(st.sampled_from(SCALARS))
            if members[name]
            else draw(st.sampled_from(["", "null", "# ?"]))
        )
        mark = draw(st.sampled_from([name, name, name, f"'{name}'", f"{name} "]))
        lines += f"    {mark}: {form.format(members[name]).replace('&x', f'&{key}{name}')}\n"
        lines += draw(st.sampled_from(["", "", "\n", "    # between\n"]))
    return f"  {key}:\n{lines}"


@st.composite
def manifests(draw: st.DrawFn) -> str:
    parts = [
        "sources:\n" + "".join(draw(sources(key)) for key in ("one", "two")),
        "skills:  # ours\n  - {name: a, source: one, path: a, agents: [x]}\n",
    ]
    text = "# top\n" + "".join(draw(st.permutations(parts)))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))


@given(manifests(), COMMITS, COMMITS)
@settings(max_examples=300, deadline=None)
def test_a_pin_changes_commits_alone(text: str, first: str, second: str) -> None:
    before = parse(text, HOSTS)
    wanted = {"one": first, "two": second}
    try:
        after = parse(pinned(before, wanted, HOSTS), HOSTS)
    except VendoringRefused as refused:
        assert all(each.line and each.line > 1 for each in refused.diagnostics), refused.diagnostics
        assert all(
            "cannot be written into the source" in each.message for each in refused.diagnostics
        )
        return
    assert {key: source.commit for key, source in after.sources.items()} == wanted
    for key, source in before.sources.items():
        again = after.sources[key]
        assert (again.repository, again.ref) == (source.repository, source.ref)
    assert [each.name for each in after.entries] == ["a"]
    for comment in ("# top", "# ours"):
        assert after.text.count(comment) == 1
