"""The composition root: use cases over a store, and one API for each function.

Each is built when it is first asked for; the imports stand inside so that a cold start pays for
nothing else. ``web/environment.py`` makes the registry of a function from its environment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from skill_registry.catalog.access import AccessCache
from skill_registry.catalog.cache import CatalogCache
from skill_registry.catalog.listing import ListSkills
from skill_registry.store.deadline import Deadline
from skill_registry.store.gate import GatedStore
from skill_registry.web.api import Api
from skill_registry.web.identity import Identity

if TYPE_CHECKING:
    from skill_registry.catalog.configuring import Configurer, SettingsFiles
    from skill_registry.catalog.copying import Copier
    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.events import EventHandler
    from skill_registry.catalog.examining import Examiner
    from skill_registry.catalog.following import Follower
    from skill_registry.catalog.freshness import CheckSkills
    from skill_registry.catalog.granting import Granter
    from skill_registry.catalog.history import History
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.pruning import Pruner
    from skill_registry.catalog.publishing import Publisher
    from skill_registry.catalog.purging import Purger
    from skill_registry.catalog.quotas import Quotas
    from skill_registry.catalog.reconciling import Reconciler
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.resolving import Resolver
    from skill_registry.catalog.runtime import Runtime
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.catalog.viewing import ViewSkill
    from skill_registry.store.base import SkillStore
    from skill_registry.web.rendered import RenderedAnswers
    from skill_registry.web.settings import Settings


# Seconds after which a call of the upload function sends no further request: less than its timeout
# by what a last one takes, one retry included.
WRITE_SECONDS = 20

# Seconds after which a view notices a directory that was copied to where it found nothing.
ABSENCE_AGE = 10


@dataclass(frozen=True)
class Registry:
    """The use cases over one store, each built when it is first asked for.

    Attributes:
        deadline: Ends calls that take too long, where a function sets one.
    """

    settings: Settings
    store: SkillStore
    runtime: Runtime
    deadline: Deadline = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Here, so that no use case can be built on a store that knows no end.
        deadline = Deadline(self.runtime.monotonic)
        object.__setattr__(self, "deadline", deadline)
        object.__setattr__(self, "store", GatedStore(self.store, deadline))

    @cached_property
    def identity(self) -> Identity:
        """Who is asking."""
        return Identity(self.settings, self.access)

    @cached_property
    def access(self) -> AccessCache:
        """The grants, as this environment remembers them."""
        return AccessCache(
            self.store,
            self.runtime,
            max_age=self.settings.access_max_age,
            stale_age=self.settings.catalog_stale_age,
        )

    @cached_property
    def granter(self) -> Granter:
        """The granting use case."""
        from skill_registry.catalog.granting import AccessFile, Granter

        return Granter(AccessFile(self.store, self.runtime), self.access, self.runtime)

    @cached_property
    def catalogs(self) -> CatalogCache:
        """The catalogs, as this environment remembers them."""
        return CatalogCache(
            self.store,
            self.runtime,
            max_age=self.settings.catalog_max_age,
            stale_age=self.settings.catalog_stale_age,
        )

    @cached_property
    def listing(self) -> ListSkills:
        """The list use case."""
        return ListSkills(self.catalogs, self.runtime)

    @cached_property
    def checks(self) -> CheckSkills:
        """The check use case."""
        from skill_registry.catalog.freshness import CheckSkills

        return CheckSkills(self.catalogs)

    @cached_property
    def rendered(self) -> RenderedAnswers:
        """The listings that this environment rendered last."""
        from skill_registry.web.rendered import RenderedAnswers

        return RenderedAnswers()

    @cached_property
    def loader(self) -> Loader:
        """The loader, with the revisions that this environment remembers."""
        from skill_registry.catalog.loading import Loader

        return Loader(self.store, self.runtime, self.settings.limits)

    @cached_property
    def resolver(self) -> Resolver:
        """What finds the skill that a caller means."""
        from skill_registry.catalog.resolving import Resolver

        return Resolver(self.store, self.runtime, self.loader, absence_age=ABSENCE_AGE)

    @cached_property
    def viewing(self) -> ViewSkill:
        """The view use case."""
        from skill_registry.catalog.viewing import ViewSkill

        expires = self.settings.bundle_expires
        return ViewSkill(
            self.store,
            self.resolver,
            self.listing,
            bundle_expires=expires,
            tell=self.runtime.tell,
        )

    @cached_property
    def log(self) -> RevisionLog:
        """The logs of all skills."""
        from skill_registry.catalog.log import RevisionLog

        return RevisionLog(self.store, self.runtime)

    @cached_property
    def refresher(self) -> Refresher:
        """Heal, project, refresh."""
        from skill_registry.catalog.projection import Projection
        from skill_registry.catalog.refreshing import Refresher

        projection = Projection(self.store, self.runtime, self.loader)
        return Refresher(self.store, self.runtime, self.log, self.entries, projection)

    @cached_property
    def entries(self) -> EntryReader:
        """What turns a skill's state into its catalog entry."""
        from skill_registry.catalog.entries import EntryReader

        return EntryReader(self.store, self.runtime, self.loader, self.settings.limits)

    @cached_property
    def follower(self) -> Follower:
        """What lets catalog and tree follow a write."""
        from skill_registry.catalog.following import Follower

        return Follower(self.refresher)

    @cached_property
    def settings_files(self) -> SettingsFiles:
        """The overrides of all skills."""
        from skill_registry.catalog.configuring import SettingsFiles

        return SettingsFiles(self.store, self.runtime)

    @cached_property
    def configurer(self) -> Configurer:
        """The configure use case."""
        from skill_registry.catalog.configuring import Configurer

        return Configurer(self.settings_files, self.runtime, self.log, self.entries, self.follower)

    @cached_property
    def pruner(self) -> Pruner:
        """What replaces old revisions by stubs."""
        from skill_registry.catalog.pruning import Pruner

        return Pruner(
            self.store, self.runtime, self.log, self.settings_files, self.settings.retention
        )

    @cached_property
    def purger(self) -> Purger:
        """The purge use case."""
        from skill_registry.catalog.purging import Purger

        return Purger(
            self.store,
            self.runtime,
            self.log,
            self.loader,
            self.settings_files,
            self.pruner,
            self.refresher,
        )

    @cached_property
    def history(self) -> History:
        """Versions and their differences."""
        from skill_registry.catalog.history import History

        return History(
            self.runtime,
            self.log,
            self.loader,
            self.resolver,
            self.settings_files,
            self.viewing,
        )

    @cached_property
    def publisher(self) -> Publisher:
        """The publish use case."""
        from skill_registry.catalog.adopting import Adopter
        from skill_registry.catalog.publishing import Publisher

        adopter = Adopter(self.store, self.runtime, self.log, self.loader.vendored)
        return Publisher(
            self.store,
            self.runtime,
            self.log,
            adopter,
            self.loader,
            self.settings_files,
            self.follower,
            self.quotas,
            self.settings.limits,
        )

    @cached_property
    def quotas(self) -> Quotas:
        """How much principals and scopes may hold."""
        from skill_registry.catalog.quotas import Quotas

        # Of its own, so that no listing is ever answered with what a write remembers.
        catalogs = CatalogCache(self.store, self.runtime)
        return Quotas(self.store, self.runtime, catalogs, self.settings.quotas)

    @cached_property
    def copier(self) -> Copier:
        """The copy use case."""
        from skill_registry.catalog.copying import Copier

        return Copier(self.viewing, self.publisher)

    @cached_property
    def uploader(self) -> Uploader:
        """The upload use case."""
        from skill_registry.catalog.uploading import Uploader

        return Uploader(
            self.store,
            self.runtime,
            self.log,
            self.publisher,
            self.quotas,
            self.settings.limits,
            expires=self.settings.upload_expires,
        )

    @cached_property
    def events(self) -> EventHandler:
        """What the event function does for a batch."""
        from skill_registry.catalog.events import EventHandler

        return EventHandler(self.uploader, self.refresher)

    @cached_property
    def reconciler(self) -> Reconciler:
        """What the schedule runs."""
        from skill_registry.catalog.reconciling import Reconciler

        return Reconciler(
            self.store, self.runtime, self.uploader, self.fresh_refresher, self.pruner
        )

    @cached_property
    def fresh_refresher(self) -> Refresher:
        """Refreshes for maintenance: what it once read of a revision counts for nothing."""
        return self._unremembering[2]

    @cached_property
    def examiner(self) -> Examiner:
        """The doctor."""
        from skill_registry.catalog.checking import LogChecker
        from skill_registry.catalog.examining import Examiner

        loader, entries, refresher = self._unremembering
        checker = LogChecker(self.store, self.runtime, self.pruner.is_due)
        return Examiner(
            self.store,
            self.runtime,
            loader,
            checker,
            entries,
            refresher,
            self.pruner,
            self.settings_files,
        )

    @cached_property
    def _unremembering(self) -> tuple[Loader, EntryReader, Refresher]:
        """What maintenance reads with: what is stored counts, not what was once read of it."""
        from skill_registry.catalog.entries import EntryReader
        from skill_registry.catalog.loading import Loader
        from skill_registry.catalog.projection import Projection
        from skill_registry.catalog.refreshing import Refresher

        limits = self.settings.limits
        loader = Loader(self.store, self.runtime, limits, cache_bytes=0)
        entries = EntryReader(self.store, self.runtime, loader, limits)
        projection = Projection(self.store, self.runtime, loader)
        return loader, entries, Refresher(self.store, self.runtime, self.log, entries, projection)

    def list_api(self) -> Api:
        """The API of the list function."""
        from skill_registry.web.description_routes import description_routes
        from skill_registry.web.list_routes import list_routes

        routes = {**list_routes(self.listing, self.checks, self.rendered), **description_routes()}
        return Api(routes, self.identity, self.runtime.tell)

    def view_api(self) -> Api:
        """The API of the view function."""
        from skill_registry.web.history_routes import history_routes
        from skill_registry.web.view_routes import view_routes

        return Api(
            {**view_routes(self.viewing), **history_routes(self.history)},
            self.identity,
            self.runtime.tell,
        )

    def upload_api(self) -> Api:
        """The API of the upload function, whose calls end in time, done or not."""
        from skill_registry.web.access_routes import access_routes
        from skill_registry.web.configure_routes import configure_routes
        from skill_registry.web.revision_routes import revision_routes
        from skill_registry.web.time_limit import limited
        from skill_registry.web.upload_routes import UploadRoutes

        uploads = UploadRoutes(self.uploader, self.publisher, self.settings.limits)
        routes = {
            **uploads.routes(),
            **revision_routes(self.publisher, self.copier, self.purger),
            **configure_routes(self.configurer),
            **access_routes(self.granter),
        }
        timed = limited(routes, self.deadline, WRITE_SECONDS)
        return Api(timed, self.identity, self.runtime.tell)

    def maintenance_api(self) -> Api:
        """The API of the refresh function."""
        from skill_registry.web.maintenance_routes import maintenance_routes

        routes = maintenance_routes(self.reconciler, self.fresh_refresher, self.examiner)
        return Api(routes, self.identity, self.runtime.tell)
