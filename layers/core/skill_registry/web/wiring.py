"""The composition root: settings, then store, then use cases, then one function's entry point.

The cached functions below are the only state of an execution environment. Each entry point builds
just what its function uses; the imports stand inside so that a cold start pays for nothing else.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from skill_registry.catalog.cache import CatalogCache
from skill_registry.catalog.listing import ListSkills
from skill_registry.catalog.runtime import Runtime, Threads
from skill_registry.web.api import Api
from skill_registry.web.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.catalog.configuring import Configurer, SettingsFiles
    from skill_registry.catalog.entries import EntryReader
    from skill_registry.catalog.events import EventHandler
    from skill_registry.catalog.examining import Examiner
    from skill_registry.catalog.following import Follower
    from skill_registry.catalog.history import History
    from skill_registry.catalog.loading import Loader
    from skill_registry.catalog.log import RevisionLog
    from skill_registry.catalog.pruning import Pruner
    from skill_registry.catalog.publishing import Publisher
    from skill_registry.catalog.purging import Purger
    from skill_registry.catalog.reconciling import Reconciler
    from skill_registry.catalog.refreshing import Refresher
    from skill_registry.catalog.uploading import Uploader
    from skill_registry.catalog.viewing import ViewSkill
    from skill_registry.store.base import SkillStore


@dataclass(frozen=True)
class Registry:
    """The use cases over one store, each built when it is first asked for."""

    settings: Settings
    store: SkillStore
    runtime: Runtime

    @cached_property
    def listing(self) -> ListSkills:
        """The list use case, with the catalogs that this environment remembers."""
        catalogs = CatalogCache(
            self.store,
            self.runtime,
            max_age=self.settings.catalog_max_age,
            stale_age=self.settings.catalog_stale_age,
        )
        return ListSkills(catalogs, self.runtime)

    @cached_property
    def loader(self) -> Loader:
        """The loader, with the revisions that this environment remembers."""
        from skill_registry.catalog.loading import Loader

        return Loader(self.store, self.runtime, self.settings.limits)

    @cached_property
    def viewing(self) -> ViewSkill:
        """The view use case."""
        from skill_registry.catalog.viewing import ViewSkill

        expires = self.settings.bundle_expires
        return ViewSkill(self.store, self.loader, self.listing, bundle_expires=expires)

    @cached_property
    def log(self) -> RevisionLog:
        """The logs of all skills."""
        from skill_registry.catalog.log import RevisionLog

        return RevisionLog(self.store, self.runtime)

    @cached_property
    def refresher(self) -> Refresher:
        """Heal, project, refresh."""
        from skill_registry.catalog.entries import EntryReader
        from skill_registry.catalog.projection import Projection
        from skill_registry.catalog.refreshing import Refresher

        entries = EntryReader(self.store, self.runtime, self.loader, self.settings.limits)
        projection = Projection(self.store, self.runtime, self.loader)
        return Refresher(self.store, self.runtime, self.log, entries, projection)

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

        return Configurer(
            self.settings_files, self.runtime, self.log, self.loader.vendored, self.follower
        )

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

        return History(self.runtime, self.log, self.loader, self.settings_files, self.viewing)

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
            self.settings.limits,
        )

    @cached_property
    def uploader(self) -> Uploader:
        """The upload use case."""
        from skill_registry.catalog.uploading import Uploader

        return Uploader(
            self.store,
            self.runtime,
            self.log,
            self.publisher,
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
        from skill_registry.web.list_routes import list_routes

        return Api(list_routes(self.listing), self.settings)

    def view_api(self) -> Api:
        """The API of the view function."""
        from skill_registry.web.history_routes import history_routes
        from skill_registry.web.view_routes import view_routes

        return Api({**view_routes(self.viewing), **history_routes(self.history)}, self.settings)

    def upload_api(self) -> Api:
        """The API of the upload function."""
        from skill_registry.web.configure_routes import configure_routes
        from skill_registry.web.revision_routes import revision_routes
        from skill_registry.web.upload_routes import UploadRoutes

        uploads = UploadRoutes(self.uploader, self.publisher, self.settings.limits)
        routes = {
            **uploads.routes(),
            **revision_routes(self.publisher, self.purger),
            **configure_routes(self.configurer),
        }
        return Api(routes, self.settings)

    def maintenance_api(self) -> Api:
        """The API of the refresh function."""
        from skill_registry.web.maintenance_routes import maintenance_routes

        routes = maintenance_routes(self.reconciler, self.fresh_refresher, self.examiner)
        return Api(routes, self.settings)


def make_store(settings: Settings, environ: Mapping[str, str]) -> SkillStore:
    """Return the store that the settings name: the bucket, or the skills directory without one."""
    if not settings.registry_bucket:
        from skill_registry.store.directory import DirectorySkillStore

        return DirectorySkillStore(settings.skills_dir, strict=settings.skills_strict)
    from skill_registry.store.s3 import S3SkillStore, make_client

    client = make_client(
        region=environ.get("AWS_REGION", "us-east-1"),
        endpoint_url=environ.get("AWS_ENDPOINT_URL") or None,
    )
    return S3SkillStore(client, settings.registry_bucket)


def open_registry(environ: Mapping[str, str]) -> Registry:
    """Return a registry with an empty memory over the store that the environment names.

    A directory sends no events, so its catalog is brought up to date here.
    """
    settings = Settings.read(environ)
    runtime = replace(Runtime(), parallel=Threads())
    opened = Registry(settings, make_store(settings, environ), runtime)
    if not settings.registry_bucket:
        opened.reconciler.run()
    return opened


@lru_cache(maxsize=1)
def registry() -> Registry:
    """Return the registry of this execution environment, from its environment variables."""
    return open_registry(os.environ)


@lru_cache(maxsize=1)
def list_api() -> Api:
    """Return the list function's API."""
    return registry().list_api()


@lru_cache(maxsize=1)
def view_api() -> Api:
    """Return the view function's API."""
    return registry().view_api()


@lru_cache(maxsize=1)
def upload_api() -> Api:
    """Return the upload function's API."""
    return registry().upload_api()
