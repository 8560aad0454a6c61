"""The one list of diagnostic codes, and the two ways to make a diagnostic.

Codes are only ever added. The README prints this table; a test holds it against the code that
uses it, both ways.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skill_registry.spec.model import Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CODES: Mapping[str, str] = {
    # The archive
    "archive_invalid": "The upload is not a readable zip archive.",
    "archive_too_large": "The archive itself is over its limit in bytes.",
    "archive_ratio": "The archive unpacks to far more bytes than it has: a decompression bomb.",
    "entry_corrupt": "An entry's bytes do not match its size or checksum.",
    "entry_encrypted": "An entry is encrypted.",
    "entry_compression": "An entry uses another method than stored or deflated.",
    "entry_link": "An entry is a symbolic link.",
    "entry_special": "An entry is a device, a pipe or a socket.",
    "entry_duplicate": "Two entries have the same path.",
    "entry_outside_skill": "A file lies beside the skill's folder, not in it.",
    "file_ignored": "A file that a system or a tool left, or of a reserved name, was not stored.",
    # The files
    "skill_md_missing": "There is no SKILL.md at the root or in the one top-level folder.",
    "skill_md_too_deep": "The only SKILL.md lies deeper than one folder.",
    "skill_md_renamed": "The file was spelled otherwise and is stored as SKILL.md.",
    "skill_md_too_large": "SKILL.md is over its limit in bytes.",
    "skill_md_empty": "SKILL.md has no text.",
    "several_skills": "The archive holds more than one skill.",
    "too_many_files": "The skill has more files than the limit.",
    "file_too_large": "A file is over its limit in bytes.",
    "skill_too_large": "The files together are over the limit in bytes.",
    # Paths
    "path_empty": "A path is empty.",
    "path_absolute": "A path starts at a root or a drive.",
    "path_traversal": "A path has a `..` segment.",
    "path_segment": "A path has a `.` or an empty segment.",
    "path_backslash": "A path has a backslash.",
    "path_control": "A path has a NUL, a control character or a line separator.",
    "path_not_utf8": "A path cannot be written in UTF-8.",
    "path_not_nfc": "A path is not in Unicode normalisation form C.",
    "path_too_long": "A path is over the limit in UTF-8 bytes.",
    "path_too_deep": "A path has more segments than the limit.",
    "path_duplicate": "Two files have the same path.",
    "path_collision": "Two paths differ in letter case or Unicode form only.",
    "path_file_and_directory": "One path is a file and also the folder of another.",
    # The text of SKILL.md
    "not_utf8": "SKILL.md is not UTF-8.",
    "frontmatter_missing": "SKILL.md does not start with a `---` line.",
    "text_above_frontmatter": "There is text above the opening `---` line.",
    "blank_lines_above_frontmatter": "There are blank lines above the opening `---` line.",
    "fence_unclosed": "The frontmatter has no closing `---` line.",
    "frontmatter_too_large": "The frontmatter is over its limit in bytes.",
    "frontmatter_not_mapping": "The frontmatter is a list or a plain text, not `key: value` lines.",
    "frontmatter_repaired": "A value that needed quotes was read as if it had them.",
    "body_empty": "There is no text after the frontmatter.",
    "reference_case": "The text names a file in another letter case than it has.",
    "reference_missing": "The text names a file that the skill does not have.",
    # YAML
    "control_character": "The frontmatter holds a character that YAML does not allow.",
    "yaml_colon": "A value holds an unquoted colon followed by a blank.",
    "yaml_quotes": "A value starts with a character that YAML reads as syntax.",
    "yaml_unclosed": "A quote or a bracket is never closed.",
    "yaml_tab": "A tab stands where YAML wants blanks.",
    "yaml_alias": "The frontmatter uses an alias.",
    "yaml_anchor": "The frontmatter uses an anchor.",
    "yaml_tag": "The frontmatter uses a type tag.",
    "yaml_too_deep": "Lists and mappings are nested too deeply.",
    "yaml_syntax": "The frontmatter is not valid YAML.",
    "duplicate_key": "A key stands twice in the same mapping.",
    "key_not_text": "A key is a list or a mapping.",
    # Fields
    "name_missing": "The frontmatter has no name.",
    "name_invalid": "The name is a list or a mapping.",
    "name_too_long": "The name is over the limit in characters.",
    "name_characters": "The name has other characters than a-z, 0-9 and hyphens.",
    "name_hyphens": "The name starts or ends with a hyphen, or has two in a row.",
    "name_reserved": "Other platforms refuse this name.",
    "name_mismatch": "The name in the frontmatter is not the one that the skill goes by.",
    "description_missing": "The frontmatter has no description.",
    "description_invalid": "The description is a list or a mapping.",
    "description_too_long": "The description is over the limit in characters.",
    "translation_invalid": "A description in another language is not a text.",
    "translation_too_long": "A description in another language is over the limit in characters.",
    "license_invalid": "The license is not a text.",
    "compatibility_invalid": "The compatibility is not a text.",
    "compatibility_too_long": "The compatibility is over the limit in characters.",
    "allowed_tools_invalid": "allowed-tools is neither a text nor a list of texts.",
    "metadata_invalid": "metadata is not a mapping.",
    "dependencies_invalid": "Declared dependencies are not lists of package names.",
    "version_invalid": "The version is not a text.",
    "version_too_long": "The version is over the limit in characters.",
    "min_tier_invalid": "min_tier is neither lite nor ultra.",
    "agents_invalid": "agents is not a list of agent names.",
    "agents_unknown": "agents names an agent that this registry does not know.",
    "source_invalid": "The source is not a text.",
    "upstream_invalid": "upstream does not name repo, commit, path and bodySha256.",
    "flag_not_boolean": "A flag is not a plain true or false, so it does not count.",
    # A publish
    "skill_disabled": "The skill is disabled, so nobody sees this version.",
    # A listing
    "collision": "A skill is shadowed by one of the same name that comes first.",
    "skill_unreadable": "A directory in the bucket has a SKILL.md that cannot be read.",
    # Packing a directory
    "ignore_pattern_invalid": "A line of an ignore file is no pattern.",
    "link_skipped": "A link is not followed and stays out of the archive.",
    "skill_md_ignored": "An ignore file leaves out SKILL.md itself.",
    "special_file_skipped": "A device, pipe or socket stays out of the archive.",
    # Discovery on this machine
    "source_missing": "A path that was named to look for skills at does not exist.",
    "source_not_markdown": "A file that was named as a skill is no Markdown file.",
    "skill_md_misspelt": "A file is SKILL.md but for its letter case, and makes no skill.",
    "link_broken": "A link leads nowhere, or in a circle.",
    "unreadable": "A file or directory cannot be read; skills may be missing.",
    "ignore_file_skipped": "An ignore file cannot be read and counts for nothing.",
    "search_cut": "There are too many directories to look through; the rest was left out.",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a problem is: a file, and a position in it where one is known (both 1-based)."""

    file: str | None = None
    line: int | None = None
    column: int | None = None


NOWHERE = Place()


def error(
    code: str,
    message: str,
    *,
    place: Place = NOWHERE,
    field: str | None = None,
    limit: int | None = None,
    actual: int | str | None = None,
    hint: str | None = None,
    severity: Severity = Severity.ERROR,
) -> Diagnostic:
    """Make a diagnostic that refuses a publish, or one of the given severity."""
    return Diagnostic(
        severity,
        code,
        message,
        field=field,
        file=place.file,
        line=place.line,
        column=place.column,
        limit=limit,
        actual=actual,
        hint=hint,
    )


def warning(
    code: str,
    message: str,
    *,
    place: Place = NOWHERE,
    field: str | None = None,
    limit: int | None = None,
    actual: int | str | None = None,
    hint: str | None = None,
) -> Diagnostic:
    """Make a diagnostic that is reported and refuses nothing."""
    return error(
        code,
        message,
        place=place,
        field=field,
        limit=limit,
        actual=actual,
        hint=hint,
        severity=Severity.WARNING,
    )


def first_of_each(diagnostics: Iterable[Diagnostic], limit: int = 50) -> list[Diagnostic]:
    """Keep the first ``limit`` of each code; the last kept one says how many more there are.

    A hostile upload can break one rule thousands of times, and the answer has to stay small.
    """
    given = list(diagnostics)
    totals = Counter(diagnostic.code for diagnostic in given)
    seen: Counter[str] = Counter()
    kept: list[Diagnostic] = []
    for diagnostic in given:
        seen[diagnostic.code] += 1
        more = totals[diagnostic.code] - limit
        if seen[diagnostic.code] < limit or more <= 0:
            kept.append(diagnostic)
        elif seen[diagnostic.code] == limit:
            kept.append(replace(diagnostic, message=f"{diagnostic.message} There are {more} more."))
    return kept
