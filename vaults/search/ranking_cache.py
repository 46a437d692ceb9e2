"""Rankings of the last questions, valid until anything a search reads is committed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

MAX_RANKINGS = 128
"""Rankings per open vault, some 10 KB each; a vault at rest keeps none."""


@dataclass(frozen=True, slots=True)
class CachedRanking:
    """A ranking, the ``Reader.version`` it was made at, and the moment the next memory expires, in stored form."""

    version: int
    ranking: Any
    until: str | None = None


class RankingCache:
    """Drops the least recently used first. One per open vault, on the event loop."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, CachedRanking] = OrderedDict()

    def get(self, key: Hashable) -> CachedRanking | None:
        """The ranking for a question, fresh or not: its version tells."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
        return kept

    def keep(self, key: Hashable, kept: CachedRanking) -> None:
        """Remember a ranking."""
        self._kept[key] = kept
        while len(self._kept) > MAX_RANKINGS:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
