"""What `sam build` left: the layer, a function's folder, and a look into their files."""

from __future__ import annotations

import io
import platform
import struct
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ELF_MACHINES = {62: "x86_64", 183: "arm64"}
_HOSTS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def host_architecture() -> str:
    """Lambda's name for the architecture of this machine."""
    return _HOSTS[platform.machine().lower()]


@dataclass(frozen=True)
class Artifact:
    """One finished build.

    Args:
        directory: The build directory of `sam build`.
        architecture: Lambda's name of the one that it was built for.
    """

    directory: Path
    architecture: str

    @property
    def layer(self) -> Path:
        """The folder that Lambda mounts at /opt."""
        return self.directory / "CoreLayer"

    @property
    def site(self) -> Path:
        """The layer's folder on ``sys.path``."""
        return self.layer / "python"

    def function(self, logical_id: str) -> Path:
        """The folder that Lambda mounts at /var/task for a function."""
        return self.directory / logical_id

    def layer_files(self) -> Iterator[Path]:
        """Yield every file of the layer."""
        return (path for path in sorted(self.layer.rglob("*")) if path.is_file())

    def zipped_size(self) -> int:
        """Bytes of the layer as an archive, deflated as `sam package` does."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in self.layer_files():
                archive.write(path, path.relative_to(self.layer))
        return buffer.tell()


def machine_of(shared_object: Path) -> str:
    """Architecture that an ELF file was compiled for (``e_machine`` of its header)."""
    header = shared_object.read_bytes()[:20]
    assert header[:4] == b"\x7fELF", shared_object
    (machine,) = struct.unpack_from("<H", header, 18)
    return ELF_MACHINES.get(machine, f"unknown machine {machine}")


def bytecode_kind(bytecode: Path) -> tuple[bytes, int]:
    """Magic number and flags of a ``.pyc`` (PEP 552); flags 1 is a hash that is never checked."""
    header = bytecode.read_bytes()[:8]
    return header[:4], struct.unpack_from("<I", header, 4)[0]
