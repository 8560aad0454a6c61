"""What narrows a listing besides who asks: tools, language, freshness; and cursors of its pages."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from house import ADMIN, House, person

from skill_registry.catalog.cursors import Position, write_cursor
from skill_registry.catalog.filters import Filters, read_versions
from skill_registry.catalog.principal import user_scope
from skill_registry.catalog.snapshot import Entry
from skill_registry.errors import RequestInvalid, Unavailable
from skill_registry.web.settings import Settings

TOOLS = {
    "any": (),
    "reader": ("Read",),
    "git": ("Bash(git:*)", "Read"),
    "shell": ("Bash",),
}


def skill(name: str, **more: object) -> Entry:
    return Entry(name, revision=1, version=1, description=f"About {name}.", **more)  # type: ignore[arg-type]


@pytest.fixture
def house() -> House:
    house = House()
    house.put_catalog("system", *(skill(n, allowed_tools=tools) for n, tools in TOOLS.items()))
    return house


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ((), ["any", "git", "reader", "shell"]),
        (("",), ["any"]),
        (("Read",), ["any", "reader"]),
        (("Read", "Bash"), ["any", "git", "reader", "shell"]),
        (("Read, Bash",), ["any", "git", "reader", "shell"]),
        (("Read Bash(git:*)",), ["any", "git", "reader"]),
        (("Read", "Bash(npm:*)"), ["any", "reader"]),
        (("read",), ["any"]),
    ],
)
def test_a_skill_that_needs_a_tool_which_the_caller_lacks_is_left_out(
    house: House, tools: tuple[str, ...], names: list[str]
) -> None:
    page = house.registry.listing.page(ADMIN, filters=Filters.read(tools=tools))
    assert [listed.entry.name for listed in page.skills] == names


def test_a_filter_does_not_bring_out_what_a_nearer_scope_shadows(house: House) -> None:
    own = user_scope("ann")
    house.put_catalog(own, skill("reader", allowed_tools=("Bash",)))
    asked = Filters.read(tools=("Read",))
    page = house.registry.listing.page(person("ann"), filters=asked)
    assert [listed.entry.name for listed in page.skills] == ["any"]
    assert page.diagnostics == ()


def test_more_than_200_tools_are_refused() -> None:
    Filters.read(tools=(" ".join(f"T{n}" for n in range(200)),))
    with pytest.raises(RequestInvalid) as caught:
        Filters.read(tools=(" ".join(f"T{n}" for n in range(201)),))
    assert caught.value.code == "filter_invalid"


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        (None, "plain"),
        ("zh-CN", "Chinese of China"),
        ("ZH-cn", "Chinese of China"),
        ("zh-TW", "Chinese"),
        ("zh-Hant-TW", "Chinese"),
        ("pt-br", "Portuguese of Brazil"),
        ("pt", "plain"),
        ("de", "plain"),
    ],
)
def test_the_description_is_in_the_language_or_its_parent_else_plain(
    language: str | None, shown: str
) -> None:
    texts = {"zh": "Chinese", "zh-CN": "Chinese of China", "pt_BR": "Portuguese of Brazil"}
    entry = Entry("x", description="plain", descriptions=texts)
    assert Filters.read(language=language).description(entry) == shown


@pytest.mark.parametrize("language", ["", "x" * 36, "zh_CN", "zh-", "-", "zh CN", "zh\n", "é", "*"])
def test_what_is_no_language_is_refused(language: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        Filters.read(language=language)
    assert caught.value.code == "filter_invalid"


def test_a_remembered_catalog_below_the_wanted_version_is_asked_for_again() -> None:
    house = House(settings=Settings(catalog_max_age=60))
    house.put_catalog("system", skill("alpha"), version=5)
    listing = house.registry.listing
    listing.page(ADMIN)
    house.put_catalog("system", skill("alpha"), skill("beta"), version=6)
    house.counter.reset()
    assert len(listing.page(ADMIN, at_least={"system": 5, "team-x": 9}).skills) == 1
    assert house.counter.count() == 0
    assert len(listing.page(ADMIN, at_least={"system": 6}).skills) == 2
    assert house.counter.count() == 1


def test_a_wanted_version_that_nobody_has_yet_costs_one_request_and_is_no_error() -> None:
    house = House(settings=Settings(catalog_max_age=60))
    house.put_catalog("system", skill("alpha"), version=5)
    house.registry.listing.page(ADMIN)
    house.counter.reset()
    page = house.registry.listing.page(ADMIN, at_least={"system": 999})
    assert (dict(page.versions), house.counter.count()) == ({"system": 5}, 1)


def test_without_the_store_an_older_catalog_is_served_marked() -> None:
    house = House(settings=Settings(catalog_max_age=60))
    house.put_catalog("system", skill("alpha"), version=5)
    house.registry.listing.page(ADMIN)
    house.faults.before_if = lambda _: True
    house.time += 7
    assert house.registry.listing.page(ADMIN, at_least={"system": 6}).stale == 7
    house.time += 300
    with pytest.raises(Unavailable):
        house.registry.listing.page(ADMIN, at_least={"system": 6})


def test_the_highest_wanted_version_of_a_scope_counts() -> None:
    assert read_versions(("system:3", "team-a:1", "system:2")) == {"system": 3, "team-a": 1}


@pytest.mark.parametrize(
    "text",
    (
        *("", "system", "system:", ":3", "system:-1", "system:x", "nope:1", "system:1e3"),
        *("system:" + "9" * 16, "system:٣", "system:3 ", "system: 3"),
    ),
)
def test_what_is_no_scope_with_a_version_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        read_versions((text,))
    assert caught.value.code == "filter_invalid"


def forged(document: object) -> str:
    text = json.dumps(document).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def test_a_cursor_belongs_to_the_whole_query_of_one_caller(house: House) -> None:
    listing = house.registry.listing
    asked = Filters.read(tools=("Read Bash",), words="about", language="zh")
    cursor = listing.page(ADMIN, filters=asked, limit=1).next
    assert len(listing.page(ADMIN, filters=asked, limit=500, cursor=cursor).skills) == 3
    others = (
        (ADMIN, Filters.read(tools=("Read",), words="about", language="zh"), ()),
        (ADMIN, Filters.read(tools=("Read Bash",), words="abou", language="zh"), ()),
        (ADMIN, Filters.read(tools=("Read Bash",), words="about"), ()),
        (ADMIN, Filters.read(words="about", language="zh"), ()),
        (ADMIN, asked, ("system", "team-blue")),
        (ADMIN.narrowed(agent="review", tier=None), asked, ()),
        (ADMIN.narrowed(agent=None, tier="lite"), asked, ()),
        (replace(ADMIN, strict=True), asked, ()),
        (replace(ADMIN, subject="another"), asked, ()),
    )
    for principal, filters, scopes in others:
        with pytest.raises(RequestInvalid) as caught:
            listing.page(principal, filters=filters, scopes=scopes, cursor=cursor)
        assert caught.value.code == "cursor_invalid"


def test_a_cursor_that_was_changed_cut_or_made_up_is_refused(house: House) -> None:
    listing = house.registry.listing
    cursor = listing.page(ADMIN, limit=1).next
    assert cursor is not None
    seal, score, name = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    assert (score, name) == (0, "any")
    forgeries = (
        cursor[:-1],
        cursor + "A",
        cursor + "=",
        cursor + "\n",
        cursor + "!",
        forged([seal, 0, "git"]),
        forged([seal, 1, "any"]),
        forged([seal, True, "any"]),
        forged([seal, 0, 7]),
        forged([seal, 0.0, "any"]),
        forged([seal, 0]),
        forged({"a": 1, "b": 2, "c": 3}),
        forged("abc"),
        forged(None),
        "",
        "e30",
        "[" * 4000,
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
        base64.urlsafe_b64encode(b"[1,2," + b"9" * 2000 + b"]").decode(),
        "x" * 100_000,
        write_cursor("another query", Position(0, "any")),
    )
    for given in forgeries:
        with pytest.raises(RequestInvalid) as caught:
            listing.page(ADMIN, cursor=given)
        assert caught.value.code == "cursor_invalid", given[:60]


def test_the_longest_possible_name_makes_a_cursor_that_is_read(house: House) -> None:
    longest = "\U0001f600" * 128
    house.put_catalog("system", skill(longest), skill("\U0001f601"), version=2)
    cursor = house.registry.listing.page(ADMIN, limit=1).next
    page = house.registry.listing.page(ADMIN, cursor=cursor)
    assert [listed.entry.name for listed in page.skills] == ["\U0001f601"]


def test_a_page_goes_on_where_it_ended_although_the_skill_there_is_gone(house: House) -> None:
    cursor = house.registry.listing.page(ADMIN, limit=2).next
    house.put_catalog("system", skill("any"), skill("apple"), skill("shell"), version=2)
    page = house.registry.listing.page(ADMIN, cursor=cursor)
    assert [listed.entry.name for listed in page.skills] == ["shell"]
