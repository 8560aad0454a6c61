"""Examples of bodies, by route and by ``body`` or the status of an answer.

Names are those of bundled skills, so that the calls work against a fresh ``./scripts/server``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
UPLOAD = "0e4dbb13d3ee4b6fa3a2a3c3f6fd4a67"
PR = {"name": "pr-description", "scope": "system"}
HELLO = {"name": "hello", "scope": "system"}
PR_MD = (
    "---\nname: pr-description\ndescription: Describes a pull request. Use when one is opened.\n"
    "---\nSay what changes, and why.\n"
)
CATALOG = {"system": 1770000000000}
WHEN = "2026-02-01T12:00:00Z"
FILE = {"path": "SKILL.md", "size": 1820, "sha256": SHA256, "mode": "0644"}
LINK = {"url": "https://bucket.example/1.zip", "sha256": SHA256, "size": 3120, "expires": 300}
PUBLISHED = {
    "state": "published",
    "upload_id": UPLOAD,
    **PR,
    "version": 2,
    "sha256": SHA256,
    "unchanged": False,
    "diagnostics": [],
}
FIRST = {**PUBLISHED, **HELLO, "version": 1}
DESCRIPTION = "Writes the description of a pull request. Use when one is opened."
FINDING = {
    "code": "tree_foreign_file",
    "skill": "system/pr-description",
    "key": "skills/system/pr-description/SKILL.md",
    "detail": "It was edited by hand.",
    "fixable": True,
}
GRANT = {
    "role": "arn:aws:iam::123456789012:role/review-bot",
    "roles": ["reader"],
    "scopes": ["team-blue"],
    "agent": "review",
}
ACCESS = {
    "grants": [GRANT],
    "changes": [
        {
            "who": "arn:aws:iam::123456789012:role/platform-admin",
            "when": WHEN,
            "what": {"role": GRANT["role"], "grant": {"roles": ["reader"], "agent": "review"}},
            "why": "Reviews pull requests",
        }
    ],
}

EXAMPLES: Mapping[tuple[str, str | int], Any] = {
    ("GET /skills", 200): {
        "skills": [{**PR, "version": 1, "description": DESCRIPTION, "tags": ["git"]}],
        "catalog_version": CATALOG,
    },
    ("POST /check", "body"): {"skills": {"pr-description": 1, "gone": 3, "plain": None}},
    ("POST /check", 200): {
        "skills": {
            "pr-description": {"state": "stale", "version": 2, "scope": "system"},
            "gone": {"state": "removed"},
            "plain": {"state": "current", "version": None, "scope": "system"},
        },
        "catalog_version": CATALOG,
    },
    ("GET /skills/{name}", 200): {
        **PR,
        "version": 1,
        "path": "SKILL.md",
        "content": "# Describe a pull request\n",
        "files": [FILE],
        "metadata": {
            "name": "pr-description",
            "description": DESCRIPTION,
            "disable_model_invocation": False,
        },
    },
    ("GET /skills/{name}/bundle", 200): {**PR, "version": 1, **LINK},
    ("GET /skills/{name}/versions", 200): {
        **PR,
        "current": 1,
        "versions": [
            {
                "version": 1,
                "state": "content",
                "author": "arn:aws:iam::123456789012:role/platform-admin",
                "message": "First one",
                "created": WHEN,
                "size": 3120,
                "sha256": SHA256,
                "labels": ["stable"],
                "restores": None,
                "unchanged": False,
            }
        ],
    },
    ("GET /skills/{name}/diff", 200): {
        **PR,
        "from": 1,
        "to": 2,
        "files": [
            {
                "path": "SKILL.md",
                "change": "changed",
                "old": {"size": 1820, "sha256": SHA256, "mode": "0644"},
                "new": {"size": 1834, "sha256": SHA256[::-1], "mode": "0644"},
            }
        ],
        "diff": "--- SKILL.md\n+++ SKILL.md\n@@ -9,0 +10 @@\n+Say why.\n",
        "truncated": False,
    },
    ("POST /uploads", "body"): {"name": "hello", "size": 812, "sha256": SHA256, "message": "First"},
    ("POST /uploads", 201): {
        "upload_id": UPLOAD,
        "method": "PUT",
        "url": "https://bucket.example/uploads/0e4d.zip",
        "headers": {"content-length": "812"},
        "expires": 900,
        "base": None,
        "max_size": 812,
    },
    ("POST /uploads/{id}/complete", 200): FIRST,
    ("POST /uploads/{id}/complete", 202): {"state": "received", "upload_id": UPLOAD, **HELLO},
    ("GET /uploads/{id}", 200): FIRST,
    ("PUT /skills/{name}", "body"): {"files": {"SKILL.md": PR_MD}, "message": "First"},
    ("PUT /skills/{name}", 200): PUBLISHED,
    ("PUT /skills/{name}", 201): {**PUBLISHED, "version": 1},
    ("DELETE /skills/{name}", 200): {**PR, "state": "deleted", "version": 3},
    ("POST /skills/{name}/rollback", "body"): {"version": 1, "message": "Two was wrong"},
    ("POST /skills/{name}/rollback", 200): {**PUBLISHED, "version": 3, "restores": 1},
    ("POST /skills/{name}/copy", "body"): {"to": "team-blue", "version": 1},
    ("POST /skills/{name}/copy", 200): {
        **PUBLISHED,
        "scope": "team-blue",
        "copied_from": {"scope": "system", "version": 1},
    },
    ("PATCH /skills/{name}", "body"): {"enabled": True, "labels": {"stable": 1}, "reason": "Good"},
    ("PATCH /skills/{name}", 200): {
        **PR,
        "enabled": True,
        "agents": None,
        "hidden": False,
        "sealed": False,
        "labels": {"stable": 1},
        "prune_below": 0,
        "purged": [],
        "changes": [
            {"who": "ann", "when": WHEN, "what": {"labels": {"stable": 1}}, "why": "Good"},
        ],
    },
    ("POST /skills/{name}/purge", "body"): {"version": 1, "reason": "A key in it"},
    ("POST /skills/{name}/purge", 200): {
        **PR,
        "state": "purged",
        "version": 1,
        "removed": 4,
        "also_in": {"2": ["references/example.md"]},
    },
    ("POST /validate", "body"): {"files": {"SKILL.md": "no frontmatter"}},
    ("POST /validate", 200): {
        "valid": False,
        "name": None,
        "diagnostics": [
            {
                "severity": "error",
                "code": "frontmatter_missing",
                "message": "SKILL.md does not start with a `---` line.",
                "file": "SKILL.md",
                "line": 1,
            }
        ],
    },
    ("GET /access", 200): ACCESS,
    ("PATCH /access", "body"): {
        "role": GRANT["role"],
        "grant": {"roles": ["reader"], "scopes": ["team-blue"], "agent": "review"},
        "reason": "Reviews pull requests",
    },
    ("PATCH /access", 200): ACCESS,
    ("POST /maintenance/{task}", "body"): {"scope": "system"},
    ("POST /maintenance/{task}", 200): {"examined": 8, "findings": [FINDING], "repaired": []},
}
