"""Outsiders of a simulated world: people and tools that write to the bucket as they like.

``sidecar`` and ``catalog`` do what the bucket policy denies to everybody but the registry: it is
broken or was never attached. Whoever works on the plain tree breaks no policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.store import keys
from skill_registry.store.gate import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simulation.world import World

    from skill_registry.store.keys import SkillId

    Actor = Callable[[], None]


def _put(world: World, key: str, body: bytes) -> None:
    world.act(Request("PUT", key), lambda: world.bucket.put(key, body))


def _delete(world: World, key: str) -> None:
    world.act(Request("DELETE", key), lambda: world.bucket.delete(key))


def sidecar(world: World, skill: SkillId) -> Actor:
    """Make somebody who deletes ``.version``, or writes garbage, an old number or a future one."""

    def act() -> None:
        key, top = keys.sidecar(skill), world.ledger.of(skill).top
        kind = world.rng.choice(("delete", "garbage", "lower", "past"))
        if kind == "delete":
            _delete(world, key)
        elif kind == "garbage":
            _put(world, key, b"six\n")
        elif kind == "lower":
            _put(world, key, b"%d\n" % world.rng.randint(1, max(1, top)))
        else:
            _put(world, key, b"%d\n" % (top + world.rng.randint(1, 9)))

    return act


def remove_sidecar(world: World, skill: SkillId) -> Actor:
    """Make somebody who deletes ``.version``."""
    return lambda: _delete(world, keys.sidecar(skill))


def tree(world: World, skill: SkillId) -> Actor:
    """Make somebody who edits, adds or deletes a file of the plain tree by hand."""

    def act() -> None:
        paths = sorted(world.ledger.of(skill).tree)
        kind = world.rng.choice(("edit", "add", "delete", "old"))
        path = world.rng.choice(paths) if paths else "SKILL.md"
        if kind == "delete":
            _delete(world, keys.tree_file(skill, path))
        elif kind == "add":
            _put(world, keys.tree_file(skill, "by-hand.md"), b"by hand\n")
        elif kind == "edit":
            _put(world, keys.tree_file(skill, path), b"edited by hand %d\n" % world.step)
        else:
            _put(world, keys.tree_file(skill, "references/notes.md"), b"one\n")

    return act


def catalog(world: World, scope: str) -> Actor:
    """Make somebody who deletes a catalog."""
    return lambda: _delete(world, keys.catalog(scope))


def sync(
    world: World, skill: SkillId, *states: Mapping[str, bytes], stated: int | None = None
) -> Actor:
    """Make somebody who copies a directory into the bucket, file by file, one state after another.

    A file that a later state lacks is deleted, as ``aws s3 sync --delete`` would.
    """

    def act() -> None:
        before: Mapping[str, bytes] = {}
        for state in states:
            for path, body in state.items():
                if before.get(path) != body:
                    _put(world, keys.tree_file(skill, path), body)
            for path in before:
                if path not in state:
                    _delete(world, keys.tree_file(skill, path))
            before = state
        if stated is not None:
            _put(world, keys.sidecar(skill), b"%d\n" % stated)

    return act
