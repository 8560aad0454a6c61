"""Every path of ``cases/paths.jsonl``, as it travels in a query: decoded once, inside its skill."""

from __future__ import annotations

import pytest
from api_client import NAME, SETTINGS, ZIP, Client
from case_inputs import Case, ids, read_cases
from house import ADMIN, House, skill_md, skill_zip

from skill_registry.catalog.principal import SYSTEM
from skill_registry.spec.layout import ArchiveContents
from skill_registry.spec.model import SkillFile
from skill_registry.store.keys import SkillId

_CASES = read_cases("paths")
_FILES = [case["path"] for case in _CASES if case["path"] not in (None, "SKILL.md")]


@pytest.fixture(scope="module")
def house() -> House:
    house = House(settings=SETTINGS)
    files = [SkillFile("SKILL.md", skill_md("notes"))]
    files += [SkillFile(path, f"This is {path}.".encode()) for path in sorted(set(_FILES))]
    contents = ArchiveContents(tuple(files))
    house.registry.publisher.publish_inline(ADMIN, SkillId(SYSTEM, "notes"), contents)
    house.publish("other")
    return house


@pytest.mark.parametrize("case", _CASES, ids=ids(_CASES))
def test_a_path_names_one_file_of_its_skill_or_none(house: House, case: Case) -> None:
    house.counter.reset()
    status, body, _ = Client(house).send(
        "GET /skills/{name}", path=NAME, query=f"path={case['wire']}"
    )
    if case["path"] is None:
        assert (status, body["code"]) == (
            400 if case["code"] == "skill_path_invalid" else 404,
            case["code"],
        )
    else:
        assert (status, body["path"]) == (200, case["path"])
        own = "# notes" if case["path"] == "SKILL.md" else f"This is {case['path']}."
        assert body["content"].startswith(own)
    assert [r.key for r in house.counter.requests if "/other/" in r.key] == []


def test_a_missing_file_names_the_nearest_ones(house: House) -> None:
    _, body, _ = Client(house).send("GET /skills/{name}", path=NAME, query="path=CONFIG.json")
    assert body["available"][0] == "config.json"


def test_every_legal_name_can_be_published_listed_and_viewed() -> None:
    house = House(settings=SETTINGS)
    client = Client(house)
    names = [case["name"] for case in read_cases("names") if "fits" in case["id"]]
    names += [case["name"] for case in read_cases("names") if "route" in case["id"]]
    for name in names:
        status, body, _ = client.send(
            "PUT /skills/{name}", path={"name": name}, headers=ZIP, body=skill_zip(name)
        )
        assert (status, body["name"]) == (201, name)
        status, body, _ = client.send("GET /skills/{name}", path={"name": name})
        assert (status, body["name"]) == (200, name)
    assert set(house.listed()) == set(names)
