"""The skills folder as a store: readable by hand, safe between processes, closed to the outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import skill_registry
from skill_registry.errors import PathInvalid, SkillInvalid, Unavailable
from skill_registry.store.base import IfAbsent, IfMatch, Lost, StoredObject, Written, list_all
from skill_registry.store.directory import DirectorySkillStore
from skill_registry.store.files import write_atomically
from skill_registry.web.environment import make_store
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from skill_registry.store.base import ObjectInfo, SkillStore

SKILL_MD = b"---\nname: example\ndescription: An example.\n---\nBody\n"
KEY = "skills/system/example/SKILL.md"
RECORD = "registry/system/example/settings.json"


def info(store: DirectorySkillStore, key: str) -> ObjectInfo:
    found = store.head(key)
    assert found is not None
    return found


def keys(store: SkillStore, prefix: str = "") -> list[str]:
    return [found.key for found in list_all(store, prefix)]


def make(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_folder_of_skills_is_served_as_it_lies(tmp_path: Path) -> None:
    make(tmp_path / "example" / "SKILL.md", SKILL_MD)
    make(tmp_path / "example" / "scripts" / "run.sh").chmod(0o755)
    make(tmp_path / "manifest.yaml")
    store = DirectorySkillStore(tmp_path)
    assert keys(store) == [
        "skills/system/example/SKILL.md",
        "skills/system/example/scripts/run.sh",
        "skills/system/manifest.yaml",
    ]
    found = store.get(KEY)
    assert isinstance(found, StoredObject)
    assert (found.body, found.info.metadata) == (SKILL_MD, {})
    assert info(store, "skills/system/example/scripts/run.sh").metadata == {"mode": "0755"}
    assert not (tmp_path / ".registry").exists()


def test_a_tree_file_is_written_where_a_person_looks_for_it(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put(KEY, SKILL_MD, metadata={"mode": "0644"})
    store.put("skills/system/example/run.sh", b"x", metadata={"mode": "0755"})
    assert (tmp_path / "example" / "SKILL.md").read_bytes() == SKILL_MD
    assert not os.access(tmp_path / "example" / "SKILL.md", os.X_OK)
    assert os.access(tmp_path / "example" / "run.sh", os.X_OK)


def test_everything_else_lies_hidden_beside_the_skills(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    for key in (RECORD, "uploads/0/1.zip", "skills/team-web/example/SKILL.md"):
        store.put(key, b"x", metadata={"n": "1", "mode": "0755"})
        assert (tmp_path / ".registry" / "objects" / key).is_file()
        assert not os.access(tmp_path / ".registry" / "objects" / key, os.X_OK)
    assert [path.name for path in tmp_path.iterdir()] == [".registry"]
    assert keys(store, "skills/system/") == []


def test_another_scope_may_lie_in_the_root(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path, scope="team-web")
    store.put("skills/team-web/example/SKILL.md", b"x")
    store.put(KEY, b"x")
    assert (tmp_path / "example" / "SKILL.md").is_file()
    assert keys(store) == [KEY, "skills/team-web/example/SKILL.md"]


def test_a_mode_follows_the_file_and_an_edit_by_hand_drops_other_metadata(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put(KEY, b"one", metadata={"mode": "0644", "write-id": "1"}, content_type="text/plain")
    file = tmp_path / "example" / "SKILL.md"
    file.chmod(0o755)
    assert info(store, KEY).metadata == {"mode": "0755", "write-id": "1"}
    before = info(store, KEY).etag
    file.write_bytes(b"two")
    edited = info(store, KEY)
    assert edited.etag != before
    assert (edited.metadata, edited.content_type) == ({"mode": "0755"}, None)
    assert isinstance(store.put(KEY, b"three", condition=IfMatch(before)), Lost)
    assert isinstance(store.put(KEY, b"three", condition=IfMatch(edited.etag)), Written)


def test_a_file_removed_by_hand_is_absent(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put(KEY, b"one", metadata={"write-id": "1"})
    (tmp_path / "example" / "SKILL.md").unlink()
    assert store.head(KEY) is None
    assert isinstance(store.put(KEY, b"two", condition=IfAbsent()), Written)
    assert info(store, KEY).metadata == {}


@pytest.mark.parametrize(
    "key",
    [
        "skills/system/../outside",
        "skills/system/example/../../outside",
        "../outside",
        "/etc/passwd",
        "skills/system//SKILL.md",
        "skills/system/./SKILL.md",
        "skills/system/example/",
        "skills/system/.registry/lock",
        "skills/system/.git/config",
        "registry/../../outside",
        "a\0b",
        "skills/system/" + "n" * 256,
    ],
)
def test_a_key_that_is_no_plain_path_is_refused(tmp_path: Path, key: str) -> None:
    root = tmp_path / "skills"
    store = DirectorySkillStore(root)
    for request in (store.get, store.head, store.delete):
        with pytest.raises(PathInvalid):
            request(key)
    with pytest.raises(PathInvalid):
        store.put(key, b"x")
    with pytest.raises(PathInvalid):
        store.presign_get(key, expires=1)
    assert not root.exists()


def test_hidden_entries_of_the_root_are_no_skills(tmp_path: Path) -> None:
    make(tmp_path / ".git" / "config")
    make(tmp_path / ".registry" / "stray")
    make(tmp_path / "example" / ".version", b"6\n")
    store = DirectorySkillStore(tmp_path)
    store.put(RECORD, b"x")
    assert keys(store, "skills/") == ["skills/system/example/.version"]
    assert store.list_page("skills/system/", delimiter="/").prefixes == ("skills/system/example/",)
    assert keys(store, "skills/system/.git/") == []
    assert keys(store, "skills/system/../") == []


def test_links_that_leave_the_root_are_not_followed(tmp_path: Path) -> None:
    secret = make(tmp_path / "outside" / "secret")
    root = tmp_path / "skills"
    make(root / "example" / "SKILL.md")
    (root / "example" / "file").symlink_to(secret)
    (root / "example" / "folder").symlink_to(secret.parent)
    (root / "linked").symlink_to(secret.parent)
    store = DirectorySkillStore(root)
    store.put(RECORD, b"x")
    (root / "example" / "records").symlink_to(root / ".registry" / "objects")
    assert keys(store, "skills/") == [KEY]
    for name in (
        "example/file",
        "example/folder/secret",
        "linked/secret",
        f"example/records/{RECORD}",
    ):
        assert store.get(f"skills/system/{name}") is None
    for name in ("example/folder/new", "linked/new", "example/records/new"):
        with pytest.raises(PathInvalid, match="leaves"):
            store.put(f"skills/system/{name}", b"x")
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]


def test_writing_over_a_link_replaces_the_link_not_its_target(tmp_path: Path) -> None:
    secret = make(tmp_path / "outside", b"secret")
    root = tmp_path / "skills"
    (root / "example").mkdir(parents=True)
    (root / "example" / "SKILL.md").symlink_to(secret)
    store = DirectorySkillStore(root)
    assert isinstance(store.put(KEY, b"x", condition=IfAbsent()), Written)
    assert secret.read_bytes() == b"secret"
    assert not (root / "example" / "SKILL.md").is_symlink()


def test_links_that_stay_inside_are_followed_and_loops_end(tmp_path: Path) -> None:
    make(tmp_path / "example" / "SKILL.md", SKILL_MD)
    (tmp_path / "alias").symlink_to("example")
    (tmp_path / "example" / "copy.md").symlink_to("SKILL.md")
    (tmp_path / "example" / "loop").symlink_to(tmp_path / "example")
    (tmp_path / "example" / "self").symlink_to("self")
    (tmp_path / "example" / "broken").symlink_to("nowhere")
    store = DirectorySkillStore(tmp_path)
    assert keys(store) == [
        "skills/system/alias/SKILL.md",
        "skills/system/alias/copy.md",
        "skills/system/example/SKILL.md",
        "skills/system/example/copy.md",
    ]
    assert store.head("skills/system/example/self") is None


def test_a_pipe_and_a_name_that_is_no_text_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path / "example" / "SKILL.md")
    os.mkfifo(tmp_path / "example" / "pipe")
    make(Path(os.fsdecode(os.fsencode(tmp_path) + b"/example/\xff.md")))
    store = DirectorySkillStore(tmp_path)
    assert keys(store) == [KEY]
    assert store.get("skills/system/example/pipe") is None


def test_a_missing_root_is_an_empty_store_and_the_first_write_makes_it(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "skills"
    store = DirectorySkillStore(root, strict=True)
    assert keys(store) == []
    assert store.get(KEY) is None
    assert store.delete(RECORD) is True
    store.put(KEY, b"x")
    assert (root / "example" / "SKILL.md").is_file()


def test_deleting_leaves_no_empty_folder_behind(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put("skills/system/example/references/deep/x.md", b"x")
    store.put(KEY, b"x")
    store.delete("skills/system/example/references/deep/x.md")
    assert [path.name for path in (tmp_path / "example").iterdir()] == ["SKILL.md"]
    store.put("skills/system/example/references", b"now a file")


def test_a_key_below_another_key_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put(KEY, b"x", metadata={"write-id": "1"})
    with pytest.raises(PathInvalid, match="folder"):
        store.put(f"{KEY}/below", b"x")
    with pytest.raises(PathInvalid, match="folder"):
        store.put("skills/system/example", b"x")
    assert store.get(f"{KEY}/below") is None
    assert info(store, KEY).metadata == {"write-id": "1"}
    assert list((tmp_path / ".registry" / "unfinished").iterdir()) == []


def test_a_crash_between_the_two_writes_keeps_the_old_object_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put(KEY, b"one", metadata={"write-id": "1"})

    def crash(path: Path, data: bytes, *, scratch: Path, mode: int = 0o644) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("skill_registry.store.directory.write_atomically", crash)
        with pytest.raises(KeyboardInterrupt):
            store.put(KEY, b"two", metadata={"write-id": "2"})
    assert info(store, KEY).metadata == {"write-id": "1"}
    store.put(KEY, b"two", metadata={"write-id": "3"})
    assert info(store, KEY).metadata == {"write-id": "3"}


def test_an_unfinished_write_leaves_the_old_bytes_and_no_litter(tmp_path: Path) -> None:
    target = make(tmp_path / "target", b"old")
    with pytest.raises(TypeError):
        write_atomically(target, "text", scratch=tmp_path / "scratch")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert list((tmp_path / "scratch").iterdir()) == []


def test_damaged_attributes_lose_metadata_only(tmp_path: Path) -> None:
    store = DirectorySkillStore(tmp_path)
    store.put(KEY, b"one", metadata={"write-id": "1"})
    (attributes,) = (tmp_path / ".registry" / "attributes").iterdir()
    for damage in (b"", b"[]", b'{"writes": {"x": {"y": 1}}}', b"\xff"):
        attributes.write_bytes(damage)
        assert info(store, KEY).metadata == {}
    store.put(KEY, b"two", metadata={"write-id": "2"})
    assert info(store, KEY).metadata == {"write-id": "2"}


def test_a_root_that_is_a_file_makes_the_store_unavailable(tmp_path: Path) -> None:
    store = DirectorySkillStore(make(tmp_path / "file"))
    assert store.get(KEY) is None
    assert keys(store) == []
    with pytest.raises(Unavailable, match=r"Not a directory|File exists"):
        store.put(KEY, b"x")


def test_of_several_processes_one_creates_each_key(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from skill_registry.store.base import IfAbsent, Written\n"
        "from skill_registry.store.directory import DirectorySkillStore\n"
        "store = DirectorySkillStore(Path(sys.argv[1]))\n"
        "sys.stdin.readline()\n"
        "for number in range(40):\n"
        "    key = f'registry/system/x/revisions/{number:08d}.zip'\n"
        "    won = store.put(key, sys.argv[2].encode(), condition=IfAbsent())\n"
        "    print(int(isinstance(won, Written)), end='')\n"
    )
    layer = Path(skill_registry.__file__).parents[1]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), str(number)],
            env={**os.environ, "PYTHONPATH": str(layer)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [process.communicate(timeout=60)[0] for process in processes]
    store = DirectorySkillStore(tmp_path)
    for number in range(40):
        (winner,) = (index for index, result in enumerate(results) if result[number] == "1")
        found = store.get(f"registry/system/x/revisions/{number:08d}.zip")
        assert isinstance(found, StoredObject)
        assert found.body == str(winner).encode()


def test_strict_names_every_offending_path_and_says_why(tmp_path: Path) -> None:
    make(tmp_path / "example" / "SKILL.md", SKILL_MD)
    broken = make(tmp_path / "broken" / "SKILL.md", b"no frontmatter")
    unclosed = make(tmp_path / "unclosed" / "SKILL.md", b"---\nname: unclosed\n")
    make(tmp_path / "notes" / "README.md", b"no skill at all")
    make(tmp_path / "example" / "references" / "SKILL.md", b"not a skill's own")
    with pytest.raises(SkillInvalid) as refusal:
        DirectorySkillStore(tmp_path, strict=True)
    assert str(broken) in refusal.value.message
    assert str(unclosed) in refusal.value.message
    assert str(tmp_path / "example") not in refusal.value.message
    files = {found.file for found in refusal.value.diagnostics}
    assert files == {"broken/SKILL.md", "unclosed/SKILL.md"}
    assert len(keys(DirectorySkillStore(tmp_path))) == 5


def test_strict_lets_warnings_pass(tmp_path: Path) -> None:
    make(tmp_path / "other-name" / "SKILL.md", SKILL_MD)
    assert keys(DirectorySkillStore(tmp_path, strict=True)) == ["skills/system/other-name/SKILL.md"]


def opened(environment: dict[str, str]) -> SkillStore:
    """Open the store that the environment names, as the functions do."""
    return make_store(Settings.read(environment), environment)


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "skills" / "example" / "SKILL.md", b"broken")
    make(tmp_path / "mine" / "other" / "SKILL.md", SKILL_MD)
    monkeypatch.chdir(tmp_path)
    assert keys(opened({})) == [KEY]
    assert keys(opened({"SKILLS_DIR": ""})) == [KEY]
    environment = {"SKILLS_DIR": str(tmp_path / "mine"), "SKILLS_STRICT": "true"}
    assert keys(opened(environment)) == ["skills/system/other/SKILL.md"]


@pytest.mark.parametrize("flag", ["1", "true", "TRUE"])
def test_the_environment_turns_strict_mode_on(tmp_path: Path, flag: str) -> None:
    make(tmp_path / "example" / "SKILL.md", b"broken")
    environment = {"SKILLS_DIR": str(tmp_path), "SKILLS_STRICT": flag}
    with pytest.raises(SkillInvalid, match="example"):
        opened(environment)


@pytest.mark.parametrize("flag", ["", "0", "false", "False"])
def test_the_environment_leaves_strict_mode_off(tmp_path: Path, flag: str) -> None:
    make(tmp_path / "example" / "SKILL.md", b"broken")
    environment = {"SKILLS_DIR": str(tmp_path), "SKILLS_STRICT": flag}
    assert keys(opened(environment)) == [KEY]


def test_an_unclear_strict_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="SKILLS_STRICT"):
        opened({"SKILLS_STRICT": "maybe"})
