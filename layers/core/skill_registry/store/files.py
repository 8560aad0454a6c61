"""Keys as files under a root that nothing may leave."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from skill_registry.errors import PathInvalid
from skill_registry.store.limits import check_key

if TYPE_CHECKING:
    from collections.abc import Iterator

RESERVED = ".registry"
_NAME_BYTES = 255


class KeyFiles:
    """The two places where keys become files: the skills folder, and ``.registry`` inside it.

    A link is followed as long as it stays among the visible files of the root. Entries of the root
    whose names begin with a dot (``.git``, ``.registry``) are no skills: never listed or written.

    Args:
        root: The skills folder; it need not exist.
        tree: Prefix of the keys that lie directly in the root, with its slash.
    """

    def __init__(self, root: Path, tree: str) -> None:
        self._root = root
        self.tree = tree
        self._objects = root / RESERVED / "objects"

    def in_tree(self, key: str) -> bool:
        """Tell whether the key is a visible file of the skills folder."""
        return key.startswith(self.tree)

    def path(self, key: str) -> Path:
        """Return where a key lies. The path need not exist.

        Raises:
            PathInvalid: The key would leave the root, or no file can be named so.
            RequestInvalid: No store can hold such a key.
        """
        check_key(key)
        relative = key.removeprefix(self.tree)
        if not _is_plain(relative) or (self.in_tree(key) and relative.startswith(".")):
            raise PathInvalid(f"The key {key!r} names no file inside the skills folder.")
        return (self._root if self.in_tree(key) else self._objects) / relative

    def stays_inside(self, key: str, path: Path) -> bool:
        """Tell whether the path, every link followed, is still in the key's own place."""
        root = Path(os.path.realpath(self._root))
        real = Path(os.path.realpath(path))
        if not self.in_tree(key):
            return real.is_relative_to(root / RESERVED / "objects")
        return real.is_relative_to(root) and not _hidden(real.relative_to(root))

    def under(self, prefix: str) -> Iterator[tuple[str, Path]]:
        """Yield every key under a prefix with its file, in no order."""
        for base, folder in ((self.tree, self._root), ("", self._objects)):
            if base.startswith(prefix):
                yield from self._walk(base, folder, ())
            elif prefix.startswith(base):
                inner = prefix[len(base) :].rpartition("/")[0]
                if not inner:
                    yield from self._walk(base, folder, ())
                elif _is_plain(inner) and not (base and inner.startswith(".")):
                    yield from self._walk(f"{base}{inner}/", folder / inner, ())

    def _walk(self, base: str, folder: Path, above: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
        real = os.path.realpath(folder)
        # A link to a folder above would go round for ever.
        if real in above or not self.stays_inside(base, folder):
            return
        try:
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            key, path = base + entry.name, Path(entry.path)
            if not _is_plain(entry.name) or (base == self.tree and entry.name.startswith(".")):
                continue
            # Not the entry's own tests: they raise on a link to itself.
            if path.is_dir():
                yield from self._walk(f"{key}/", path, (*above, real))
            elif path.is_file() and (not entry.is_symlink() or self.stays_inside(key, path)):
                yield key, path


def write_atomically(path: Path, data: bytes, *, scratch: Path, mode: int = 0o644) -> None:
    """Replace a file so that every reader sees the old bytes or the new ones, a crash included.

    Power loss is another matter: nothing is flushed to the disk here.

    Args:
        scratch: Folder for the unfinished file, on the same file system; made when absent.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = scratch / uuid.uuid4().hex
    try:
        unfinished.write_bytes(data)
        unfinished.chmod(mode)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_empty_folders(folder: Path, *, top: Path) -> None:
    """Remove a folder and those above it, up to ``top``, while they are empty.

    A bucket has no folders; left behind, they would stand in the way of a key of that name.
    """
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _hidden(relative: Path) -> bool:
    return bool(relative.parts) and relative.parts[0].startswith(".")


def _is_plain(relative: str) -> bool:
    try:
        names = [part.encode() for part in relative.split("/")]
    except UnicodeEncodeError:
        return False
    return all(
        name not in (b"", b".", b"..") and b"\0" not in name and len(name) <= _NAME_BYTES
        for name in names
    )
