"""What can be wrong with a manifest, an upstream or a vendored tree: codes, and the one error.

Codes are only ever added. The README prints this table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skill_registry.errors import RegistryError
from skill_registry.spec.diagnostics import Place, error
from skill_registry.spec.model import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skill_registry.spec.model import Diagnostic

VENDORING: Mapping[str, str] = {
    # The manifest
    "manifest_missing": "There is no manifest, or it cannot be read.",
    "manifest_syntax": "The manifest is not valid YAML.",
    "manifest_invalid": "A part of the manifest is missing, of another kind, or unknown.",
    "manifest_duplicate": "A key or a skill stands twice in the manifest.",
    "repository_invalid": "A repository is no `https://github.com/OWNER/NAME`, nor on a host that"
    " is allowed.",
    "commit_invalid": "A commit is not 40 lower-case hex digits.",
    "source_undeclared": "A skill names a source that the manifest does not declare.",
    "source_unpinned": "A source has no commit yet; a sync pins it.",
    # The upstream
    "upstream_unreachable": "The code host does not answer, or not as one.",
    "upstream_not_found": "The code host knows no such repository, or does not show it.",
    "upstream_moved": "The repository has another address now.",
    "upstream_refused": "The code host refuses the request.",
    "ref_not_found": "The repository has no such branch, tag or commit.",
    "rate_limited": "The code host wants fewer requests, or some with a token.",
    "archive_invalid": "The archive of the repository is damaged, too large or not of the commit.",
    "archive_unsafe": "The archive has paths that lead out of it.",
    "path_not_found": "The repository has no skill at the path.",
    "skill_renamed": "The skill at the path has another name than the manifest says.",
    "skill_unusable": "The upstream's SKILL.md or one of its paths cannot be taken over.",
    "not_publishable": "A publish would refuse the skill as its upstream wrote it.",
    "link_left_out": "The upstream has a link there, which is not followed.",
    "file_left_out": "The upstream has something there that is no part of a skill, or a submodule.",
    "lfs_pointer": "A file of the upstream only stands for one that Git LFS keeps elsewhere.",
    "licence_missing": "Neither the skill nor its repository has a licence file.",
    "attributes_change_files": "The upstream's .gitattributes change what its archives hold.",
    # The tree
    "skill_missing": "The manifest lists a skill that the tree does not have.",
    "skill_unlisted": "A directory is no skill of the manifest: copied by hand, or left over.",
    "skill_unreadable": "A SKILL.md of the tree cannot be read.",
    "name_differs": "A skill lies in a directory of another name.",
    "agents_differ": "The agents are not those of the manifest.",
    "upstream_missing": "A vendored skill does not say where it is from.",
    "upstream_differs": "A vendored skill says that it is from elsewhere than the manifest.",
    "upstream_unexpected": "A skill that was written here says that it is somebody else's.",
    "commit_differs": "A vendored skill is of another commit than its source is pinned to.",
    "body_edited": "The body of a vendored SKILL.md is not its upstream's.",
    "frontmatter_edited": "The frontmatter of a vendored SKILL.md was edited.",
    "file_changed": "A file of a vendored skill is not its upstream's.",
    "line_ends_changed": "Files of a vendored skill differ from their upstream's in line ends.",
    "file_missing": "A vendored skill lacks a file that its upstream has.",
    "file_extra": "A vendored skill has a file that its upstream does not have.",
    "files_differ": "The files of a vendored skill are not those that its digest is of.",
    "link_found": "A skill has a link, which is not followed.",
    "lock_invalid": "The lock beside the manifest is missing, damaged, or not of this tree.",
    "sync_interrupted": "A sync was killed; the next one puts the tree back first.",
    # A sync
    "sync_running": "Another sync is at work on this tree.",
    "tree_unwritable": "The tree cannot be written; it is as before.",
    "edited_meanwhile": "Somebody edited the manifest during a sync, which therefore did nothing.",
    "not_vendored": "A sync would replace a directory that no sync has made.",
}


class VendoringRefused(RegistryError):
    """Nothing was changed; each problem is named.

    Args:
        code: One of ``VENDORING``; where there are diagnostics, by default that of the first.
    """

    code = "vendoring_refused"

    def __init__(
        self, message: str, *, code: str | None = None, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        if code is None and diagnostics:
            code = diagnostics[0].code
        super().__init__(message, code=code)
        self.diagnostics = tuple(diagnostics)


class SyncInterrupted(KeyboardInterrupt):
    """A user or the system ended a sync.

    Args:
        written: Whether that came after everything was written; else the tree is as before.
    """

    def __init__(self, *, written: bool) -> None:
        super().__init__()
        self.written = written


def problem(
    code: str,
    message: str,
    *,
    file: str | None = None,
    position: tuple[int, int] | None = None,
    field: str | None = None,
    hint: str | None = None,
    severity: Severity = Severity.ERROR,
) -> Diagnostic:
    """Name a problem. ``position`` is line and column in ``file``, 1-based."""
    place = Place(file, *position) if position is not None else Place(file)
    return error(code, message, place=place, field=field, hint=hint, severity=severity)


def caution(code: str, message: str, *, file: str | None) -> Diagnostic:
    """Name what is worth knowing and stops nothing."""
    return problem(code, message, file=file, severity=Severity.WARNING)
