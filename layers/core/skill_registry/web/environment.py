"""An execution environment: one registry, from its environment variables, for as long as it lives.

The cached functions below are the only state of the process. Nothing is read at import.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from skill_registry.catalog.runtime import Runtime, Threads
from skill_registry.web.settings import Settings
from skill_registry.web.telemetry import recorder
from skill_registry.web.wiring import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skill_registry.store.base import SkillStore
    from skill_registry.web.api import Api


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
    runtime = replace(Runtime(), parallel=Threads(), tell=recorder())
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
