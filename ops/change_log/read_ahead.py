"""Objects of a store in order, the next ones fetched meanwhile: a bucket takes its time for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ops.backup.transfers import in_parallel
from ops.change_log.segments import hash_of
from ops.change_log.store import LogStore

PLACES = 8
"""Objects that are fetched or wait to be used at a time, of some megabytes each."""


@dataclass(frozen=True, slots=True)
class Fetched:
    key: str
    data: bytes
    hash: str


def read_ahead(store: LogStore, keys: Iterable[str]) -> Iterator[Fetched]:
    """Each object and its hash. Raises what the store raises, in its turn."""

    def fetch(key: str) -> Fetched:
        data = store.get(key)
        return Fetched(key, data, hash_of(data))

    return in_parallel(fetch, keys, PLACES)
