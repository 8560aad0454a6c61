"""Any sequence of publishes, deletes, events and views, with requests failing anywhere.

The real use cases over the memory store. A failing request stands for a crash of its environment:
before it was applied, or after (the reply is lost). After each step the log must be sound; at the
end one reconcile must bring everything together.
"""

from __future__ import annotations

from typing import Any

from house import ADMIN, House, skill, skill_files, skill_zip
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skill_registry.catalog.revision import Kind, RevisionInfo
from skill_registry.catalog.snapshot import decode
from skill_registry.errors import NotFound, RegistryError, Unavailable
from skill_registry.spec.archive import read_revision
from skill_registry.spec.files import parse_sidecar
from skill_registry.store import keys
from skill_registry.store.base import StoredObject, list_all
from skill_registry.store.gate import Request
from skill_registry.store.keys import SkillId
from skill_registry.store.memory import MemorySkillStore

NAMES = st.sampled_from(["alpha", "beta"])
TEXTS = st.sampled_from(["one", "two", "three"])
FAULTS = st.one_of(
    st.none(),
    st.tuples(st.integers(min_value=0, max_value=16), st.sampled_from(["before", "after"])),
)
Fault = tuple[int, str] | None


class PublishMachine(RuleBasedStateMachine):
    """One bucket, a fresh environment for each step, and everything ever acknowledged."""

    @initialize(opaque=st.booleans(), vendored=st.booleans())
    def start(self, opaque: bool, vendored: bool) -> None:
        self.house = House(bucket=MemorySkillStore(opaque_etags=opaque))
        self.acknowledged: dict[str, int] = {}
        self.uploads: list[tuple[str, str]] = []
        self.keyed: dict[str, tuple[str, str]] = {}
        self.revisions: dict[tuple[str, int], bytes] = {}
        self.next_key = 0
        if vendored:
            for file in skill_files("alpha", "vendored"):
                self.house.put(keys.tree_file(SkillId("system", "alpha"), file.path), file.data)

    def attempt(self, fault: Fault, call: Any) -> Any:
        """Run a call in a fresh environment; its k-th request may be the last one it makes."""
        left = fault[0] if fault else -1
        dead = False

        def fails(when: str) -> Any:
            def check(_: Request) -> bool:
                nonlocal left, dead
                if dead:
                    return True
                if fault is None or fault[1] != when:
                    return False
                left -= 1
                dead = left < 0
                return dead

            return check

        self.house.faults.before_if = (
            fails("before") if fault and fault[1] == "before" else (lambda _: dead)
        )
        self.house.faults.after_if = fails("after")
        try:
            return call(self.house.environment())
        except Unavailable:
            return None
        finally:
            self.house.faults.clear()

    def acknowledge(self, name: str, done: Any) -> None:
        if done is None:
            return
        known = self.acknowledged.setdefault(str(done.upload), done.info.number)
        assert known == done.info.number, "one upload was acknowledged with two numbers"
        info = self.house.registry.log.info(SkillId("system", name), done.info.number)
        assert info is not None
        assert info.upload_id == str(done.upload), "the acknowledged revision is somebody else's"
        stated = parse_sidecar(self.house.version(name) or b"")
        assert stated is not None and stated >= done.info.number, "acknowledged, not visible"

    @rule(name=NAMES, text=TEXTS, fault=FAULTS)
    def publish(self, name: str, text: str, fault: Fault) -> None:
        key = f"key-{self.next_key}"
        self.next_key += 1
        self.keyed[key] = (name, text)
        self._send(key, fault)

    @precondition(lambda self: self.keyed)
    @rule(data=st.data(), fault=FAULTS)
    def retry(self, data: st.DataObject, fault: Fault) -> None:
        self._send(data.draw(st.sampled_from(sorted(self.keyed))), fault)

    def _send(self, key: str, fault: Fault) -> None:
        name, text = self.keyed[key]
        done = self.attempt(
            fault,
            lambda env: env.publisher.publish_inline(
                ADMIN, SkillId("system", name), skill(name, text), idempotency_key=key
            ),
        )
        self.acknowledge(name, done)

    @rule(name=NAMES, text=TEXTS)
    def upload(self, name: str, text: str) -> None:
        self.uploads.append((name, self.house.upload(name, skill_zip(name, text))))

    @precondition(lambda self: self.uploads)
    @rule(data=st.data(), fault=FAULTS)
    def complete(self, data: st.DataObject, fault: Fault) -> None:
        name, upload = data.draw(st.sampled_from(self.uploads))
        done = self.attempt(fault, lambda env: env.uploader.complete(ADMIN, upload))
        self.acknowledge(name, done)

    @rule(name=NAMES, fault=FAULTS)
    def delete(self, name: str, fault: Fault) -> None:
        def call(environment: Any) -> Any:
            try:
                return environment.publisher.delete(ADMIN, SkillId("system", name))
            except NotFound:
                return None

        self.acknowledge(name, self.attempt(fault, call))

    @rule(data=st.data(), fault=FAULTS)
    def deliver(self, data: st.DataObject, fault: Fault) -> None:
        objects = sorted(self.house.state())
        if objects:
            chosen = data.draw(st.lists(st.sampled_from(objects), max_size=4))
            self.attempt(fault, lambda _: self.house.deliver(*chosen))

    @rule(name=NAMES, body=st.sampled_from([None, b"garbage", b"99\n"]))
    def tamper_with_the_sidecar(self, name: str, body: bytes | None) -> None:
        key = keys.sidecar(SkillId("system", name))
        if self.house.registry.log.top(SkillId("system", name)) == 0:
            return
        if body is None:
            self.house.bucket.delete(key)
        else:
            self.house.put(key, body)

    @rule(name=NAMES, fault=FAULTS)
    def view(self, name: str, fault: Fault) -> None:
        def call(environment: Any) -> Any:
            try:
                return environment.viewing.view(ADMIN, name, path="references/notes.md")
            except NotFound:
                return None

        seen = self.attempt(fault, call)
        if seen is None or seen.loaded.revision is None:
            return
        stored = self.house.read(keys.revision(SkillId("system", name), seen.loaded.version))
        assert stored is not None
        files = {file.path: file.data for file in read_revision(stored)}
        assert files["references/notes.md"] == seen.file.data, "version and bytes differ"

    @invariant()
    def the_log_is_dense_immutable_and_holds_each_upload_once(self) -> None:
        for name in ("alpha", "beta"):
            infos = self._log(name)
            numbers = [info.number for info in infos]
            assert numbers == list(range(1, len(numbers) + 1)), "not dense"
            ids = [info.upload_id for info in infos]
            assert len(ids) == len(set(ids)), "an upload was committed twice"

    def _log(self, name: str) -> list[RevisionInfo]:
        infos = []
        for listed in list_all(self.house.bucket, keys.revisions(SkillId("system", name))):
            number = keys.revision_number(listed.key)
            found = self.house.bucket.get(listed.key)
            assert number is not None and isinstance(found, StoredObject)
            first = self.revisions.setdefault((name, number), found.body)
            assert first == found.body, "a revision was rewritten"
            infos.append(RevisionInfo.from_object(number, found.info))
        return infos

    @invariant()
    def the_catalog_never_leads_the_log(self) -> None:
        body = self.house.read(keys.catalog("system"))
        catalog = decode("system", body) if body else None
        for name, entry in (catalog.entries if catalog else {}).items():
            if entry.revision is not None:
                assert entry.revision <= len(self._log(name))

    def teardown(self) -> None:
        if not hasattr(self, "house"):
            return
        self.house.registry.reconciler.run()
        expected: dict[str, int | None] = {}
        for name in ("alpha", "beta"):
            infos = self._log(name)
            if not infos:
                if self.house.tree(name):
                    expected[name] = None
                continue
            head = infos[-1]
            assert self.house.version(name) == b"%d\n" % head.number
            files = read_revision(self.revisions[name, head.number])
            live = head.kind is Kind.CONTENT
            want = {file.path: file.data for file in files} if live else {}
            assert self.house.tree(name) == want, "the tree is not the head"
            if live:
                expected[name] = head.number
        assert self.house.listed(registry=self.house.environment()) == expected
        self._writes_nothing_more()

    def _writes_nothing_more(self) -> None:
        self.house.counter.reset()
        for key in list(self.house.state()):
            if not key.startswith("uploads/"):
                self.house.deliver(key)
        self.house.registry.reconciler.run()
        writes = [r for r in self.house.counter.requests if r.op in ("PUT", "DELETE")]
        assert writes == [], "a second run wrote"


def test_no_sequence_with_faults_breaks_an_invariant() -> None:
    run_state_machine_as_test(
        PublishMachine,
        settings=settings(
            max_examples=60,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_refusal_is_never_an_outage() -> None:
    assert not issubclass(NotFound, Unavailable)
    assert issubclass(Unavailable, RegistryError)
