"""What every source of skills promises: a registry and directories, sync and async."""

from __future__ import annotations

import asyncio
import hashlib
import io
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
import toolkit
from loopback import QUICK, Loopback

from skill_registry.agent.async_client import AsyncRegistryClient
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.local import LocalSource
from skill_registry.agent.source import SkillQuery, SkillSource, in_threads
from skill_registry.errors import RegistryError

Files = Mapping[str, bytes | str]


@dataclass
class Place:
    """A source, and how skills get there."""

    source: SkillSource
    publish: Callable[..., object]
    remove: Callable[[str], object]


def files(name: str, text: str = "one", head: str = "") -> dict[str, bytes | str]:
    return {
        "SKILL.md": f"---\nname: {name}\ndescription: Does {text}.\n{head}---\n# {text}\n",
        "references/a.md": f"More of {text}.\r\n",
        "assets/logo.png": b"\x89PNG\xff",
    }


def _local(folder: Path) -> Place:
    def publish(name: str, given: Files, runnable: Collection[str] = ()) -> None:
        count = len(list(folder.glob(f"{name}/**/*")))
        for path, data in given.items():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data.encode() if isinstance(data, str) else data)
            target.chmod(0o755 if path in runnable else 0o644)
        (folder / name / ".version").write_text("2\n" if count else "1\n")

    def remove(name: str) -> None:
        (folder / name / "SKILL.md").unlink()

    return Place(LocalSource(folder), publish, remove)


def _served(client: RegistryClient, source: SkillSource) -> Place:
    def publish(name: str, given: Files, runnable: Collection[str] = ()) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, data in given.items():
                info = zipfile.ZipInfo(path)
                info.create_system = 3
                info.external_attr = (0o100755 if path in runnable else 0o100644) << 16
                archive.writestr(info, data)
        client.publish_inline(name, buffer.getvalue())

    return Place(source, publish, client.delete)


@pytest.fixture(params=["local", "local-async", "registry", "registry-async"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        if request.param.startswith("local"):
            made = _local(tmp_path)
            if request.param == "local-async":
                runner = stack.enter_context(asyncio.Runner())
                made.source = cast(SkillSource, toolkit.Awaited(in_threads(made.source), runner))
            yield made
            return
        registry = stack.enter_context(Loopback())
        client = stack.enter_context(RegistryClient(registry.url, retry=QUICK))
        source: SkillSource = client
        if request.param == "registry-async":
            runner = stack.enter_context(asyncio.Runner())
            made_async = AsyncRegistryClient(registry.url, retry=QUICK)
            stack.callback(lambda: runner.run(made_async.aclose()))
            source = cast(SkillSource, toolkit.Awaited(made_async, runner))
        yield _served(client, source)


def test_nothing_is_an_empty_listing(place: Place) -> None:
    assert place.source.list_all().skills == ()


def test_skills_are_listed_by_name_with_version_and_description(place: Place) -> None:
    for name in ("zebra", "ant", "middle"):
        place.publish(name, files(name))
    listed = place.source.list_all().skills
    assert [skill.name for skill in listed] == ["ant", "middle", "zebra"]
    assert {skill.description for skill in listed} == {"Does one."}
    assert {skill.version for skill in listed} == {1}


def test_a_listing_has_the_same_members_whatever_the_source(place: Place) -> None:
    head = (
        "license: MIT\nallowed-tools: search files\nsource: https://example.org\nmin_tier: lite\n"
        "compatibility: Python 3.11\nmetadata:\n  tags: [small, quick]\n"
    )
    place.publish("full", files("full", head=head))
    (skill,) = place.source.list_all().skills
    assert {key: value for key, value in skill.answer.items() if key != "scope"} == {
        "name": "full",
        "version": 1,
        "description": "Does one.",
        "license": "MIT",
        "compatibility": "Python 3.11",
        "allowed_tools": ["search", "files"],
        "min_tier": "lite",
        "tags": ["small", "quick"],
        "source": "https://example.org",
    }


def test_a_change_shows_in_the_next_listing(place: Place) -> None:
    place.publish("ant", files("ant"))
    place.source.list_all()
    place.publish("ant", files("ant", "two"))
    (skill,) = place.source.list_all().skills
    assert (skill.version, skill.description) == (2, "Does two.")


@pytest.mark.parametrize("path", [None, "", "SKILL.md", "./SKILL.md"])
def test_a_body_comes_without_frontmatter(place: Place, path: str | None) -> None:
    place.publish("ant", files("ant"))
    view = place.source.view_skill("ant", path)
    assert (view.data, view.path, view.version) == (b"# one\n", "SKILL.md", 1)
    assert view.metadata["description"] == "Does one."


def test_a_view_tells_what_the_frontmatter_says_as_json(place: Place) -> None:
    head = "agents: [dba]\nallowed-tools: search files\nmetadata:\n  tags: [small]\n"
    place.publish("ant", files("ant", head=head))
    assert place.source.view_skill("ant", "references/a.md").metadata == {
        "name": "ant",
        "description": "Does one.",
        "agents": ["dba"],
        "allowed_tools": ["search", "files"],
        "metadata": {"tags": ["small"]},
        "disable_model_invocation": False,
    }


def test_every_other_file_comes_as_it_is(place: Place) -> None:
    given = files("ant")
    place.publish("ant", given)
    assert place.source.view_skill("ant", "references/a.md").data == b"More of one.\r\n"
    assert place.source.view_skill("ant", "./assets/logo.png").data == b"\x89PNG\xff"


def test_a_view_names_every_file_with_the_digest_of_what_is_stored(place: Place) -> None:
    given = files("ant")
    place.publish("ant", given)
    seen = {file.path: file for file in place.source.view_skill("ant").files}
    assert set(seen) == set(given)
    for path, data in given.items():
        raw = data.encode() if isinstance(data, str) else data
        assert (seen[path].size, seen[path].sha256) == (len(raw), hashlib.sha256(raw).hexdigest())


def test_a_copy_is_every_file_as_it_is_stored(place: Place) -> None:
    given = files("ant")
    place.publish("ant", given)
    copy = place.source.load_skill("ant")
    assert copy is not None
    assert (copy.name, copy.version) == ("ant", 1)
    assert {file.path: file.data for file in copy.files} == {
        path: data.encode() if isinstance(data, str) else data for path, data in given.items()
    }


def test_what_can_be_run_stays_so(place: Place) -> None:
    place.publish("ant", files("ant") | {"scripts/x.py": "1"}, {"scripts/x.py", "SKILL.md"})
    modes = {"SKILL.md": "0755", "references/a.md": "0644", "assets/logo.png": "0644"}
    modes["scripts/x.py"] = "0755"
    copy = place.source.load_skill("ant")
    assert copy is not None
    assert {file.path: file.mode for file in copy.files} == modes
    assert {file.path: file.mode for file in place.source.view_skill("ant").files} == modes


def test_what_systems_tools_and_versions_leave_is_no_file_of_a_skill(place: Place) -> None:
    left = ("__MACOSX/x", "Thumbs.db", "a/._b", ".git/config", "node_modules/x.js", "a/.version")
    place.publish("ant", files("ant") | dict.fromkeys(left, "x"))
    copy = place.source.load_skill("ant")
    assert copy is not None
    assert {file.path for file in copy.files} == set(files("ant"))
    with pytest.raises(RegistryError) as refused:
        place.source.view_skill("ant", "Thumbs.db")
    assert refused.value.code == "file_not_found"


def test_a_copy_that_is_known_is_not_sent_again(place: Place) -> None:
    place.publish("ant", files("ant"))
    copy = place.source.load_skill("ant")
    assert copy is not None
    assert place.source.load_skill("ant", known=copy.tag) is None
    assert place.source.load_skill("ant", 1, known=copy.tag) is None
    assert place.source.load_skill("ant", "1", known=copy.tag) is None
    place.publish("ant", files("ant", "two"))
    again = place.source.load_skill("ant", known=copy.tag)
    assert again is not None
    assert again.version == 2


def test_equal_bytes_at_another_version_are_another_copy(place: Place) -> None:
    place.publish("ant", files("ant"))
    copy = place.source.load_skill("ant")
    place.publish("ant", files("ant"))
    assert copy is not None
    again = place.source.load_skill("ant", known=copy.tag)
    assert again is not None
    assert again.version == 2


def test_check_tells_current_stale_and_removed(place: Place) -> None:
    for name in ("ant", "bee", "cow"):
        place.publish(name, files(name))
    place.publish("bee", files("bee", "two"))
    place.remove("cow")
    checked = place.source.check({"ant": 1, "bee": 1, "cow": 1, "dog": 1})
    assert {name: (now.state, now.version) for name, now in checked.items()} == {
        "ant": ("current", 1),
        "bee": ("stale", 2),
        "cow": ("removed", None),
        "dog": ("removed", None),
    }


@pytest.mark.parametrize(
    ("name", "path", "version", "code"),
    [
        ("none", None, None, "skill_not_found"),
        ("ant", "none.md", None, "file_not_found"),
        ("ant", ".version", None, "file_not_found"),
        ("ant", "../ant/SKILL.md", None, "skill_path_invalid"),
        ("ant", None, 9, "version_not_found"),
        ("ant", None, "@stable", "version_not_found"),
    ],
)
def test_refusals_have_the_same_codes(
    place: Place, name: str, path: str | None, version: int | str | None, code: str
) -> None:
    place.publish("ant", files("ant"))
    with pytest.raises(RegistryError) as refused:
        place.source.view_skill(name, path, version)
    assert refused.value.code == code
    if path is None:
        with pytest.raises(RegistryError) as refused:
            place.source.load_skill(name, version)
        assert refused.value.code == code


def test_a_refusal_names_what_there_is(place: Place) -> None:
    for name in ("ant", "bee"):
        place.publish(name, files(name))
    place.publish("mine", files("mine", head="disable-model-invocation: true\n"))
    place.publish("theirs", files("theirs", head="agents: [dba]\n"))
    with pytest.raises(RegistryError) as refused:
        place.source.view_skill("cow", query=SkillQuery(agent="review"))
    assert getattr(refused.value, "available", None) == ("ant", "bee")
    with pytest.raises(RegistryError) as refused:
        place.source.view_skill("ant", "references/b.md")
    assert "references/a.md" in getattr(refused.value, "available", ())


def test_a_tier_that_is_none_is_refused(place: Place) -> None:
    place.publish("ant", files("ant"))
    query = SkillQuery(tier="Ultra")
    for call in (
        lambda: place.source.list_all(query),
        lambda: place.source.view_skill("ant", query=query),
        lambda: place.source.load_skill("ant", query=query),
        lambda: place.source.check({"ant": 1}, query=query),
    ):
        with pytest.raises(RegistryError) as refused:
            call()
        assert refused.value.code == "filter_invalid"


def test_a_hidden_skill_is_not_listed_and_loads_by_name(place: Place) -> None:
    place.publish("mine", files("mine", head="disable-model-invocation: true\n"))
    assert place.source.list_all().skills == ()
    assert place.source.view_skill("mine").data == b"# one\n"
    assert place.source.check({"mine": 1})["mine"].state == "current"


def test_skills_of_others_are_neither_listed_nor_loaded(place: Place) -> None:
    place.publish("theirs", files("theirs", head="agents: [dba, builder]\n"))
    place.publish("ours", files("ours"))
    for agent, names in {"dba": ["ours", "theirs"], "review": ["ours"], "": ["ours"]}.items():
        query = SkillQuery(agent=agent)
        assert [skill.name for skill in place.source.list_all(query).skills] == names
        if "theirs" not in names:
            for call in (place.source.view_skill, place.source.load_skill):
                with pytest.raises(RegistryError) as refused:
                    call("theirs", query=query)
                assert refused.value.code == "skill_not_found"
            assert place.source.check({"theirs": 1}, query=query)["theirs"].state == "removed"


def test_a_lower_tier_does_not_see_what_is_for_a_higher_one(place: Place) -> None:
    place.publish("heavy", files("heavy", head="min_tier: ultra\n"))
    assert place.source.list_all(SkillQuery(tier="lite")).skills == ()
    assert len(place.source.list_all(SkillQuery(tier="ultra")).skills) == 1


@pytest.mark.parametrize(
    ("tools", "count"),
    [
        (None, 1),
        ((), 0),
        (("search",), 0),
        (("search", "shell"), 1),
        (("search", "shell(git:*)"), 1),
        (("search, shell",), 1),
    ],
)
def test_skills_that_need_other_tools_are_not_listed(
    place: Place, tools: tuple[str, ...] | None, count: int
) -> None:
    place.publish("needy", files("needy", head="allowed-tools: search shell(git:*)\n"))
    assert len(place.source.list_all(SkillQuery(tools=tools)).skills) == count
    assert place.source.view_skill("needy", query=SkillQuery(tools=tools)).version == 1


def test_descriptions_come_in_the_language_that_is_asked_for(place: Place) -> None:
    place.publish("ant", files("ant", head="description_zh: 做一件事。\n"))
    for language, text in {None: "Does one.", "zh-Hans": "做一件事。", "fr": "Does one."}.items():
        (skill,) = place.source.list_all(SkillQuery(language=language)).skills
        assert skill.description == text
