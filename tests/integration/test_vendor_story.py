"""Other people's skills from their repository to an agent's machine: sync, check, publish, pull.

``--corpus DIR`` makes a repository of real skills; without it the bundled ones have to do, and
look-alikes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from code_host import CodeHost
from git_repositories import Executable, Repository
from house import read_skill_dir
from mounts import tree as snapshot

from local_stack.launcher import ServerProcess
from skill_registry.spec.frontmatter import read_document
from skill_registry.spec.model import has_errors
from skill_registry.spec.validation import check_skill

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).resolve().parents[2]
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
        "nested/SKILL.md": b"no frontmatter here",
        "empty.txt": b"",
    },
    "refused": {"SKILL.md": b"---\nname: refused\ndescription: Uses: a colon\n---\nBody\n"},
}


@pytest.fixture(scope="module")
def directories(corpus: Path | None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories of skills by the names that they give themselves, each name once."""
    root = tmp_path_factory.mktemp("look-alikes")
    for name, files in LOOK_ALIKES.items():
        for path, data in files.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_bytes(data)
    found: dict[str, Path] = {}
    for each in (root, PROJECT / "skills", *([corpus] if corpus else [])):
        for skill_md in sorted(each.rglob("SKILL.md")):
            mapping = read_document(skill_md.read_bytes(), tolerant=True).mapping or {}
            stated, description = mapping.get("name"), mapping.get("description")
            if not isinstance(stated, str) or not isinstance(description, str):
                continue
            if description.strip() and re.fullmatch("[a-z0-9][a-z0-9-]*", stated):
                found.setdefault(stated, skill_md.parent)
    return found


@pytest.fixture(scope="module")
def upstream(directories: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repository = Repository(tmp_path_factory.mktemp("code") / "kit")
    files: dict[str, bytes | Executable] = {"LICENSE": b"A licence\n"}
    for name, directory in directories.items():
        for file in read_skill_dir(directory):
            data = Executable(file.data) if file.executable else file.data
            files[f"skills/{name}/{file.path}"] = data
    repository.commit(files)
    return repository


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stack_environments: None
) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("vendor"), "--empty").start()
    yield server
    server.stop()


@pytest.fixture(scope="module", params=["http", "file"])
def tree(
    request: pytest.FixtureRequest,
    directories: dict[str, Path],
    upstream: Repository,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A tree that was synced from that repository."""
    root = tmp_path_factory.mktemp(f"tree-{request.param}") / "skills"
    root.mkdir()
    with CodeHost() as host:
        host.add("acme/kit", upstream)
        repo = f"{host.url}/acme/kit" if request.param == "http" else upstream.url
        entries = "".join(
            f"  - {{name: '{name}', source: kit, path: 'skills/{name}', agents: [review]}}\n"
            for name in directories
        )
        (root / "manifest.yaml").write_text(
            f"sources:\n  kit: {{repo: '{repo}', ref: main}}\nskills:\n{entries}"
        )
        done = skillctl("vendor", "sync", "--json", cwd=root.parent, allow=f"{host.url} file")
        assert done.returncode == 0, done.stdout + done.stderr
        assert host.count("zipball") == (1 if request.param == "http" else 0)
    return root


def skillctl(
    *arguments: str | Path, cwd: Path, allow: str = "file", url: str = "http://127.0.0.1:9"
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "SKILL_REGISTRY_URL": url,
        "SKILL_REGISTRY_VENDOR_HOSTS": allow,
        "SKILL_REGISTRY_VENVS": str(PROJECT / ".venvs"),
    }
    return subprocess.run(
        [PROJECT / "scripts" / "skillctl", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_synced_tree_has_the_upstreams_bytes_but_for_three_keys(
    tree: Path, directories: dict[str, Path]
) -> None:
    assert len(directories) >= len(LOOK_ALIKES) + 8
    for name, directory in directories.items():
        theirs = {file.path: file for file in read_skill_dir(directory)}
        ours = {file.path: file for file in read_skill_dir(tree / name)}
        assert ours.keys() - theirs.keys() <= {"LICENSE"}, name
        for path, file in theirs.items():
            assert ours[path].executable == file.executable, f"{name}/{path}"
            if path != "SKILL.md":
                assert ours[path].data == file.data, f"{name}/{path}"
        before, after = (
            read_document(each["SKILL.md"].data, tolerant=True) for each in (theirs, ours)
        )
        assert after.body == before.body, name
        kept = {key: value for key, value in (after.mapping or {}).items()}
        added = {key: kept.pop(key) for key in ("agents", "source", "upstream")}
        original = dict(before.mapping or {})
        assert kept == {key: value for key, value in original.items() if key not in added}, name


def test_what_is_synced_published_and_pulled_is_the_same_to_the_byte(
    tree: Path, server: ServerProcess, tmp_path: Path
) -> None:
    check = skillctl("vendor", "check", cwd=tree.parent, allow=manifest_host(tree))
    assert (check.returncode, check.stdout) == (0, "vendor check: ok\n")
    sound = {path.name for path in tree.iterdir() if path.is_dir() and is_publishable(path)}
    scope = f"team-{tree.parent.name.rpartition('-')[2].rstrip('0123456789')}"
    pushed = skillctl("push", "skills", "--scope", scope, "--json", cwd=tree.parent, url=server.url)
    results = json.loads(pushed.stdout)["results"]
    assert {Path(each["path"]).name for each in results if each.get("version")} == sound
    assert pushed.returncode == 1 and "refused" not in sound
    names = sorted(sound)
    pulled = skillctl(
        "pull", *names, "--scope", scope, "--to", tmp_path, cwd=tmp_path, url=server.url
    )
    assert pulled.returncode == 0, pulled.stderr
    for name in names:
        here = snapshot(tmp_path / name)
        assert here.pop(".version"), name
        assert here == snapshot(tree / name), name
        for path in here:
            modes = [(root / name / path).stat().st_mode & 0o111 for root in (tree, tmp_path)]
            assert modes[0] == modes[1], f"{name}/{path}"


def is_publishable(directory: Path) -> bool:
    files = read_skill_dir(directory)
    return not has_errors(check_skill(files, name=directory.name).diagnostics)


def manifest_host(tree: Path) -> str:
    """Return what has to be allowed for the manifest of a tree."""
    repo = (tree / "manifest.yaml").read_text().split("repo: '")[1].split("'")[0]
    return "file" if repo.startswith("file:") else repo.removesuffix("/acme/kit")
