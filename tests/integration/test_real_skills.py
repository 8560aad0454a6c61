"""Real skills through the real stack: every file comes back as it went in, bit for bit.

``--corpus DIR`` takes a folder of other people's skills; without it the bundled ones have to do,
and look-alikes of what was found in the wild.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from house import read_skill_dir

from local_stack.launcher import ServerProcess
from skill_registry.agent.client import RegistryClient
from skill_registry.agent.packing import pack
from skill_registry.spec.model import has_errors
from skill_registry.spec.validation import check_skill

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
SCOPE = "team-real"

LOOK_ALIKES: dict[str, dict[str, bytes]] = {
    "byte-order-mark": {
        "SKILL.md": b"\xef\xbb\xbf---\r\nname: byte-order-mark\r\n"
        b"description: Saved on Windows.\r\n---\r\nBody\r\n",
    },
    "many-kinds": {
        "SKILL.md": "---\nname: many-kinds\ndescription: >-\n  Folded, mit Umlaut: äöü\n"
        "metadata:\n  deep:\n    er: [1, no, 2025-01-05]\n---\n\n\nBody without end".encode(),
        "assets/logo.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        "references/тест und 文件.md": "Ünïcode\n".encode(),
        "scripts/run me.sh": b"#!/bin/sh\necho hello\n",
        "nested/SKILL.md": b"no frontmatter here",
        "empty.txt": b"",
    },
}


@pytest.fixture(scope="module")
def client(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[RegistryClient]:
    server = ServerProcess(tmp_path_factory.mktemp("real"), "--empty").start()
    with RegistryClient(server.url) as client:
        yield client
    server.stop()


@pytest.fixture(scope="module")
def skills(corpus: Path | None, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Directories with a SKILL.md that a publish accepts."""
    root = tmp_path_factory.mktemp("look-alikes")
    for name, files in LOOK_ALIKES.items():
        for path, data in files.items():
            target = root / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(0o755 if path.startswith("scripts/") else 0o644)
    roots = [root, PROJECT / "skills"] + ([corpus] if corpus else [])
    found = [path.parent for each in roots for path in sorted(each.rglob("SKILL.md"))]
    outer = [path for path in found if not any(parent in found for parent in path.parents)]
    return [path for path in outer if _is_valid(path)]


def _is_valid(directory: Path) -> bool:
    return not has_errors(check_skill(read_skill_dir(directory), name=None).diagnostics)


def test_every_file_of_every_skill_comes_back_bit_for_bit(
    client: RegistryClient, skills: list[Path]
) -> None:
    assert len(skills) >= len(LOOK_ALIKES) + 8
    wrong = {str(directory): why for directory in skills if (why := _difference(client, directory))}
    assert wrong == {}


def _difference(client: RegistryClient, directory: Path) -> str | None:
    """Publish a directory and compare what is served, as files and as bundle, with its source."""
    packed = pack(directory)
    client.publish(packed.name, packed.archive, scope=SCOPE)
    with zipfile.ZipFile(io.BytesIO(packed.archive)) as archive:
        sent = {path: (directory / path).read_bytes() for path in archive.namelist()}
    seen = client.view_skill(packed.name, scope=SCOPE)
    served = {file.path: file.sha256 for file in seen.files}
    if served != {path: hashlib.sha256(data).hexdigest() for path, data in sent.items()}:
        return "the digests in the view differ"
    for path, data in sent.items():
        if client.view_skill(packed.name, path, scope=SCOPE, raw=True).data != data:
            return f"{path} differs"
    bundle = httpx.get(client.bundle(packed.name, scope=SCOPE).url, trust_env=False).content
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        if {name: archive.read(name) for name in archive.namelist()} != sent:
            return "the bundle differs"
    return None


def test_a_second_push_of_a_changed_copy_shows_in_the_next_listing(
    client: RegistryClient, skills: list[Path], tmp_path: Path
) -> None:
    for directory in skills[: len(LOOK_ALIKES) + 8]:
        packed = pack(directory)
        before = client.publish(packed.name, packed.archive, scope=SCOPE).version
        changed = io.BytesIO(packed.archive)
        with zipfile.ZipFile(changed, "a") as archive:
            archive.writestr("references/added.md", "More.\n")
        after = client.publish(packed.name, changed.getvalue(), scope=SCOPE).version
        assert after == before + 1
        listed = {s.name: s.version for s in client.list_skills(scopes=[SCOPE], limit=500).skills}
        assert listed[packed.name] == after


def test_executable_files_stay_executable(client: RegistryClient, skills: list[Path]) -> None:
    client.publish(
        "many-kinds",
        pack(next(path for path in skills if path.name == "many-kinds")).archive,
        scope=SCOPE,
    )
    files = {file.path: file.mode for file in client.view_skill("many-kinds", scope=SCOPE).files}
    assert files["scripts/run me.sh"] == "0755"
    assert files["empty.txt"] == "0644"
