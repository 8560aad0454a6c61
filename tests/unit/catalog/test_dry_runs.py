"""A dry run: what arrives is looked at by whoever handles it, and never published."""

from __future__ import annotations

import pytest
from house import ADMIN, House, skill_zip, zipped

from skill_registry.catalog.principal import SYSTEM
from skill_registry.catalog.uploading import Validated
from skill_registry.catalog.uploads import Ticket
from skill_registry.store import keys
from skill_registry.store.base import all_versions
from skill_registry.store.keys import SkillId, UploadId
from skill_registry.store.memory import MemorySkillStore

NOTES = SkillId(SYSTEM, "notes")
BAD = zipped({"SKILL.md": b"---\nname: other\n---\n"})


@pytest.fixture
def house() -> House:
    return House(MemorySkillStore(versioned=True))


def test_a_dry_run_says_what_a_publish_would_and_publishes_nothing(house: House) -> None:
    for data, valid in ((skill_zip("notes"), True), (BAD, False)):
        upload = house.upload("notes", data, dry_run=True)
        done = house.registry.uploader.complete(ADMIN, upload)
        assert isinstance(done, Validated) and done.valid is valid
        outcome = house.registry.uploader.outcome(ADMIN, upload)
        assert outcome == {
            "state": "validated",
            "upload_id": upload,
            "name": "notes",
            "scope": "system",
            "valid": valid,
            "diagnostics": outcome["diagnostics"],
        }
    assert {"name_mismatch", "description_missing"} <= {d["code"] for d in outcome["diagnostics"]}
    assert not [key for key in house.state() if not key.startswith("uploads/")]


@pytest.mark.parametrize("who", ["event", "reconcile", "call"])
def test_whoever_handles_a_dry_run_publishes_nothing(house: House, who: str) -> None:
    upload = house.upload("notes", skill_zip("notes"), dry_run=True)
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "received"
    for _ in range(2):
        if who == "event":
            assert house.deliver(keys.upload(UploadId(ADMIN.hash, upload))) == set()
        elif who == "reconcile":
            assert house.registry.reconciler.run().uploads == ()
        else:
            house.environment().uploader.complete(ADMIN, upload)
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "validated"
    assert house.version("notes") is None
    outcome = keys.outcome(UploadId(ADMIN.hash, upload))
    assert len(list(all_versions(house.bucket, outcome))) == 1


def test_a_dry_run_of_a_skill_that_went_on_looks_for_nothing_in_the_log(house: House) -> None:
    upload = house.upload("notes", skill_zip("notes"), dry_run=True)
    house.publish("notes")
    house.counter.reset()
    assert house.registry.uploader.outcome(ADMIN, upload)["state"] == "received"
    assert not [r for r in house.counter.requests if "notes" in r.key]


def test_a_ticket_says_that_it_is_dry_and_who_called() -> None:
    ticket = Ticket(NOTES, 3, "ann", dry_run=True, correlation="c-1")
    assert Ticket.from_metadata(ticket.to_metadata()) == ticket
    plain = Ticket(NOTES, 3, "ann")
    assert set(plain.to_metadata()) == {"skill", "base", "author"}
    assert Ticket.from_metadata(plain.to_metadata()) == plain


def test_a_long_correlation_id_does_not_crowd_a_ticket() -> None:
    assert len(Ticket(NOTES, 3, "ann", correlation="x" * 99).to_metadata()["correlation"]) == 64
