"""Routes of the refresh function: maintenance on demand, for administrators.

Each call works for so many seconds at most and answers with ``next`` where there is more to do.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skill_registry.catalog.examining import BUDGET, Examined, Examiner
from skill_registry.errors import Forbidden, SkillNotFound
from skill_registry.spec.names import is_directory_name
from skill_registry.store.keys import SkillId
from skill_registry.web.http import Request, Response, json_response
from skill_registry.web.problems import RouteNotFound
from skill_registry.web.schemas import Doctor, Rebuild, Reconcile, read_body

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skill_registry.catalog.principal import Principal
    from skill_registry.catalog.reconciling import Reconciler
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.web.api import Routes

    Document = dict[str, Any]
    Task = Callable[[Document, Principal], Document]


def maintenance_routes(reconciler: Reconciler, refresher: Refresher, examiner: Examiner) -> Routes:
    """Return the route, over the use cases that the schedule and the doctor run."""

    def reconcile(body: Document, _principal: Principal) -> Document:
        asked = read_body(Reconcile, body)
        return _without_end(asdict(reconciler.run(budget=BUDGET, start=asked.cursor)))

    def rebuild(body: Document, principal: Principal) -> Document:
        scope = principal.write_scope(read_body(Rebuild, body).scope)
        catalog = refresher.rebuild(scope)
        return {"scope": scope, "catalog_version": catalog.version, "skills": len(catalog.entries)}

    def doctor(body: Document, principal: Principal) -> Document:
        asked = read_body(Doctor, body)
        if asked.name is None:
            scope = None if asked.scope is None else principal.write_scope(asked.scope)
            found = examiner.examine_all(
                scope=scope, start=asked.cursor, fix=asked.fix, who=principal.subject
            )
        else:
            skill = _skill(principal.write_scope(asked.scope), asked.name)
            found = _one(examiner, skill, fix=asked.fix, who=principal.subject)
        return _examined(found)

    tasks: Mapping[str, Task] = {"reconcile": reconcile, "rebuild": rebuild, "doctor": doctor}

    def maintain(request: Request, principal: Principal) -> Response:
        if not principal.administrator:
            raise Forbidden("Only administrators may do maintenance.")
        task = tasks.get(request.path_parameter("task"))
        if task is None:
            raise RouteNotFound(f"There is no such task; there are {', '.join(tasks)}.")
        body = request.json() if request.body else {}
        return json_response(task(body, principal), headers={"cache-control": "no-store"})

    return {"POST /maintenance/{task}": maintain}


def _skill(scope: str, name: str) -> SkillId:
    if not is_directory_name(name):
        raise SkillNotFound(f"No skill can be called `{name[:64]}`.")
    return SkillId(scope, name)


def _one(examiner: Examiner, skill: SkillId, *, fix: bool, who: str) -> Examined:
    """Examine one skill with what its scope's catalog says of it; repair it where asked to."""
    if not examiner.knows(skill):
        raise SkillNotFound(f"There is nothing of a skill `{skill.name}` in `{skill.scope}`.")
    found = examiner.examine(skill)
    if not (fix and any(each.fixable for each in found)):
        return Examined(tuple(found), examined=1)
    left = examiner.repair(skill, who=who)
    return Examined(tuple(left), tuple(each for each in found if each not in left), 1)


def _examined(found: Examined) -> Document:
    return _without_end(
        {
            "examined": found.examined,
            "findings": [each.to_dict() for each in found.findings],
            "repaired": [each.to_dict() for each in found.repaired],
            "next": found.next,
        }
    )


def _without_end(document: Document) -> Document:
    """Leave ``next`` out where a task came to its end."""
    if document["next"] is None:
        del document["next"]
    return document
