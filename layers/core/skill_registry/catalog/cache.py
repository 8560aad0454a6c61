"""What one execution environment remembers between requests: catalogs and revisions.

These two are the documented module-level state of the registry; ``web/wiring.py`` holds them.
Everything remembered is either revalidated before use or immutable.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from skill_registry.catalog.indexing import CatalogIndex
from skill_registry.catalog.snapshot import Catalog, read_catalog
from skill_registry.errors import Unavailable
from skill_registry.store import keys
from skill_registry.store.base import NotModified, StoredObject

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from skill_registry.catalog.runtime import Runtime
    from skill_registry.store.base import SkillStore

V = TypeVar("V")

_SMALL = 1024
# Entries in memory, with all that is looked up in them, take up to this many times the bytes of the
# gzipped object (measured: 11).
_UNPACKED = 12
# Seconds after which a listing may be back: rebuilt after an event, or served by later code.
_REBUILDING = 5
_ROLLING = 60


class ByteLru(Generic[V]):
    """The least recently used values, bounded by the bytes that they take. Thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """Return the value, and mark it as used."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, size: int) -> None:
        """Remember a value of ``size`` bytes; one over the bound is not kept."""
        if size > self._max_bytes:
            return
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = (value, size)
            self._bytes += size - before
            while self._bytes > self._max_bytes:
                _, (_, freed) = self._values.popitem(last=False)
                self._bytes -= freed


@dataclass(frozen=True, slots=True)
class CachedCatalog:
    """A catalog as it was answered last.

    Attributes:
        index: What is looked up in it. It grows while it is used; ``size`` counts all of it.
        etag: None where the scope has no catalog object.
        checked: When the store confirmed it, monotonic seconds.
        size: Bytes that it takes in memory, estimated.
    """

    index: CatalogIndex
    etag: str | None
    checked: float
    size: int = _SMALL

    def answered(self, stale: float | None = None) -> Answered:
        """Return it for one request."""
        return Answered(self.index.catalog, self.index, self.etag, stale)


@dataclass(frozen=True, slots=True)
class Answered:
    """A catalog for one request.

    ``stale`` is the age, in seconds, of one that was served without the store.
    """

    catalog: Catalog
    index: CatalogIndex
    etag: str | None
    stale: float | None = None

    @property
    def stamp(self) -> Hashable:
        """What changes whenever the catalog does."""
        return self.catalog.scope, self.catalog.version, self.etag


class CatalogCache:
    """The catalogs of this environment, each revalidated by one conditional GET.

    Args:
        max_age: Seconds during which a confirmed catalog is answered without asking.
        stale_age: Seconds during which it is answered, marked, while the store does not answer.
    """

    def __init__(
        self,
        store: SkillStore,
        runtime: Runtime,
        *,
        max_age: float = 0,
        stale_age: float = 300,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._max_age = max_age
        self._stale_age = stale_age
        self._known: ByteLru[CachedCatalog] = ByteLru(max_bytes)

    def get(self, scope: str, at_least: int = 0) -> Answered:
        """Return the catalog of a scope; an empty one where there is none.

        Args:
            at_least: The store is asked, whatever the age, where a lower version is remembered.

        Raises:
            Unavailable: The store does not answer and nothing recent enough is known.
        """
        known = self._known.get(scope)
        now = self._runtime.monotonic()
        if known is not None and now - known.checked < self._age_of(known, at_least):
            return known.answered()
        try:
            fresh = self._revalidated(scope, known, now)
        except Unavailable:
            if known is None or now - known.checked > self._stale_age:
                raise
            return known.answered(stale=now - known.checked)
        self._known.put(scope, fresh, fresh.size)
        return fresh.answered()

    def all(
        self, scopes: Sequence[str], at_least: Mapping[str, int] | None = None
    ) -> list[Answered]:
        """Return the catalogs of several scopes, asked for at once."""
        lowest = at_least or {}
        calls = [partial(self.get, scope, lowest.get(scope, 0)) for scope in scopes]
        return self._runtime.parallel(calls)

    def _age_of(self, known: CachedCatalog, at_least: int) -> float:
        """Return the seconds for which it is answered unasked."""
        return self._max_age if known.index.catalog.version >= at_least else 0

    def _revalidated(self, scope: str, known: CachedCatalog | None, now: float) -> CachedCatalog:
        etag = known.etag if known else None
        found = self._store.get(keys.catalog(scope), if_none_match=etag)
        unknown = found is None and known is None
        if unknown and (unknown := self._has_records(scope)):
            # A scope's catalog comes before its first record: it may have come since.
            found = self._store.get(keys.catalog(scope))
        if isinstance(found, NotModified) and known is not None:
            return replace(known, checked=now)
        if isinstance(found, StoredObject):
            catalog = read_catalog(scope, found.body)
            if isinstance(catalog, Catalog):
                size = _SMALL + len(found.body) * _UNPACKED
                return CachedCatalog(CatalogIndex(catalog), found.etag, now, size)
            # A newer one is left to newer code: no read of this one turns it into a listing.
            raise Unavailable(
                f"The listing of `{scope}` cannot be read: {catalog.why}; try again.",
                retry_after=_ROLLING if catalog.newer else _REBUILDING,
            )
        if found is None and not unknown and etag is None:
            return CachedCatalog(CatalogIndex(Catalog(scope, 0, {})), None, now)
        # Lost or broken: what is known is better than an empty listing, and an error than a lie.
        message = f"The listing of `{scope}` is being rebuilt; try again."
        raise Unavailable(message, retry_after=_REBUILDING)

    def _has_records(self, scope: str) -> bool:
        """Whether anything was ever published into a scope."""
        return bool(self._store.list_page(keys.scope_records(scope), limit=1).objects)
