"""The config file: where it is, and how it is read and changed."""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from skill_registry.agent.regular import read_regular
from skill_registry.errors import RegistryError, RequestInvalid
from skill_registry_cli.profiles import Config, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONFIG_VARIABLE = "SKILLCTL_CONFIG"
MOST_CONFIG_BYTES = 1024 * 1024
_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")


def config_path(environment: Mapping[str, str]) -> Path:
    """Return where the config file is: the user's config folder, or where SKILLCTL_CONFIG says."""
    named = environment.get(CONFIG_VARIABLE)
    return Path(named) if named else Path(typer.get_app_dir("skillctl")) / "config.toml"


def load(path: Path) -> Config:
    """Read the config file; where there is none, nothing is configured.

    Raises:
        RequestInvalid: ``config_invalid``: it cannot be read, or is no config file.
    """
    why = ""
    try:
        data, _ = read_regular(path, MOST_CONFIG_BYTES + 1, follow=True)
        if len(data) > MOST_CONFIG_BYTES:
            why = "it is too large."
        else:
            return read(tomllib.loads(data.decode()))
    except FileNotFoundError:
        return Config()
    except OSError as error:
        why = f"{error.strerror or error}."
    except RegistryError as error:
        why = error.message
    except tomllib.TOMLDecodeError as error:
        # The rest of that text may quote the file.
        place = _PLACE.search(str(error))
        why = f"it is no TOML ({place[1] if place else 'all of it'})."
    except (UnicodeDecodeError, RecursionError):
        why = "it is no TOML."
    # Out here, so that no traceback leads to the file's text.
    raise RequestInvalid(f"The config file {path} cannot be used: {why}", code="config_invalid")


def change(path: Path, edit: Callable[[Config], Config]) -> Config:
    """Read the config file, let ``edit`` make another one of it, and keep that.

    It is the old file or the new one at every moment, 0600, and its folder is made 0700. Of
    changes at one time none is lost. Where the path is a link, what it leads to is written.

    Raises:
        RequestInvalid: ``config_invalid``, ``config_unwritable``, or what ``edit`` raises.
    """
    real = Path(os.path.realpath(path))
    with _explaining(path):
        real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone_in(real.parent):
            changed = edit(load(path))
            _replace(real, changed.to_bytes())
    return changed


def _replace(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        # A file of mkstemp is its owner's alone.
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other run changes a config in a folder. A run that is killed blocks nobody."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RequestInvalid(
            f"The config file {path} cannot be written: {error.strerror or error}.",
            code="config_unwritable",
        ) from error
