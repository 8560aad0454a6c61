"""Discovery holds for every tree of files, links and ignore files."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from trees import grow

from skill_registry.agent.discovery import Locations, discover
from skill_registry.errors import SkillInvalid
from skill_registry.spec.model import Severity, has_errors

_NAMES = st.sampled_from(
    ["a", "b", "pots", "Ä", "[ab]", ".hid", "node_modules", "SKILL.md", "skill.md", "x.md", "y.md"]
)
_IGNORE_FILES = st.sampled_from([".gitignore", ".ignore", ".fdignore"])
_PATTERNS = st.sampled_from(
    [
        "*",
        "a",
        "/a",
        "b/",
        "!a",
        "!/b/",
        "**",
        "a/**",
        "*.md",
        "!SKILL.md",
        "[ab]",
        "[",
        "!",
        "\\",
        "#",
    ]
)
_TEXTS = st.sampled_from(
    [
        "---\nname: pots\ndescription: Grows beans.\n---\nWater.\n",
        "---\nname: a\ndescription: Other.\n---\n",
        "---\ndescription: No name.\n---\nx\n",
        "---\nname: pots\n---\nx\n",
        "---\nname: [\n---\n",
        "# plain\n",
        "",
    ]
)
_TARGETS = st.lists(st.sampled_from(["..", ".", "a", "b", "pots", "SKILL.md", "x.md"]), min_size=1)
_FOLDERS = st.lists(_NAMES, max_size=3).map(tuple)
_FILES = st.tuples(_FOLDERS, _NAMES, st.tuples(st.just("text"), _TEXTS))
_LINKS = st.tuples(_FOLDERS, _NAMES, st.tuples(st.just("link"), _TARGETS.map("/".join)))
_RULES = st.tuples(
    _FOLDERS,
    _IGNORE_FILES,
    st.tuples(st.just("text"), st.lists(_PATTERNS, max_size=4).map("\n".join)),
)
_SOURCES = st.lists(st.sampled_from([".", "a", "b", "pots/x.md", "~", "~/a", "gone"]), max_size=3)


def _tree(drawn: list[Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Leave out what cannot lie beside or below what came before."""
    taken: dict[tuple[str, ...], tuple[str, str]] = {}
    folders: set[tuple[str, ...]] = set()
    for above, name, node in drawn:
        path = (*above, name)
        parents = [path[:end] for end in range(1, len(path))]
        if path in taken or path in folders or any(parent in taken for parent in parents):
            continue
        taken[path] = node
        folders.update(parents)
    files = {"/".join(path): text for path, (kind, text) in taken.items() if kind == "text"}
    links = {"/".join(path): to for path, (kind, to) in taken.items() if kind == "link"}
    return files, links


_TREES = st.lists(_FILES | _FILES | _LINKS | _RULES, max_size=14).map(_tree)


def _told(root: Path, sources: list[str]) -> list[Any]:
    """Discover, and tell it without the place where the tree lies."""
    found = discover(
        sources, locations=Locations(root / "b", root / "pots"), home=root / "a", cwd=root
    )
    skills = [[str(each.path), each.kind, asdict(each.meta)] for each in found.skills]
    said = [each.to_dict() for each in found.diagnostics]
    told = json.dumps([skills, said], sort_keys=True)
    result: list[Any] = json.loads(told.replace(str(root), ""))
    return result


@settings(deadline=None)
@given(_TREES, _SOURCES)
def test_no_tree_makes_discovery_raise_and_its_order_is_the_trees(
    tree: tuple[dict[str, str], dict[str, str]], sources: list[str]
) -> None:
    files, links = tree
    with tempfile.TemporaryDirectory() as place:
        one, other = (Path(place, number, "garden") for number in "12")
        for root in (one, other):
            root.mkdir(parents=True)
        grow(one, files, links)
        grow(other, dict(reversed(files.items())), dict(reversed(links.items())))
        told = _told(one, sources)
        assert told == _told(one, sources)
        assert told == _told(other, sources)


@settings(deadline=None)
@given(_TREES)
def test_what_is_found_keeps_the_rules(tree: tuple[dict[str, str], dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = grow(Path(place), *tree)
        found = discover([root], defaults=False)
        names = [skill.name for skill in found.skills]
        assert len(set(names)) == len(names)
        assert len({skill.path.resolve() for skill in found.skills}) == len(names)
        for skill in found.skills:
            inside = skill.path.relative_to(root).parts
            assert not any(part.startswith(".") or part == "node_modules" for part in inside)
            assert skill.path.name == "SKILL.md" or len(inside) == 1
            assert skill.description.strip()
            skill.body()
        collided = [each.severity is Severity.COLLISION for each in found.diagnostics]
        assert collided == sorted(collided)
        assert len(found.collisions) == sum(collided)
        try:
            assert discover([root], defaults=False, strict=True) == found
        except SkillInvalid as refused:
            assert has_errors(found.diagnostics)
            assert refused.diagnostics == found.diagnostics
        else:
            assert not has_errors(found.diagnostics)
