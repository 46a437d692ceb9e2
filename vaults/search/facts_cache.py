"""The facts of passages that searches read lately, as a caller's filter lets them through.

Reading fifty of them takes a twentieth of a search's time, and most stay as they are from one question to the next.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from vaults.db.sql import Reader
from vaults.search.filters import SearchFilter
from vaults.search.passage_facts import PassageFacts, read_facts

MAX_FILTERS, MAX_PASSAGES = 16, 2_000
"""Filters, and passages of each, from which on they are gathered anew: some 1 MB where one caller asks, and none while
a vault rests."""

_Known: TypeAlias = dict[int, PassageFacts | None]
"""Passage to its facts; None: the filter does not let it through."""


class FactsStamp(NamedTuple):
    """What facts depend on: the ``Reader.version``, and when the next memory expires. As long as both are the same,
    nothing was committed that a search reads, and nothing has expired."""

    version: int
    expires: str | None


class _KeptFacts(NamedTuple):
    stamp: FactsStamp
    by_filter: dict[Hashable, _Known]


@dataclass(slots=True)
class FactsCache:
    """One per open vault, used by readers' threads. One that is late by a commit finds nothing, and keeps nothing."""

    _kept: _KeptFacts = field(default_factory=lambda: _KeptFacts(FactsStamp(-1, None), {}))

    def read(
        self, tx: Reader, passages: Collection[int], only: SearchFilter, *, stamp: FactsStamp
    ) -> dict[int, PassageFacts]:
        """As ``read_facts``. ``stamp``: what held in an earlier read of the same search."""
        if only.is_narrow or only.as_of is not None or tx.version() != stamp.version:
            return read_facts(tx, passages, only)
        known = self._known(stamp, (only.viewer, only.kinds, only.include_archived))
        unknown = [passage for passage in passages if passage not in known]
        if unknown:
            found = read_facts(tx, unknown, only)
            for passage in unknown:
                known[passage] = found.get(passage)
        return {passage: facts for passage in passages if (facts := known[passage]) is not None}

    def clear(self) -> None:
        """Forget all."""
        self._kept = _KeptFacts(FactsStamp(-1, None), {})

    def _known(self, stamp: FactsStamp, key: Hashable) -> _Known:
        kept = self._kept
        if kept.stamp != stamp:
            self._kept = kept = _KeptFacts(stamp, {})
        known = kept.by_filter.get(key)
        if known is None or len(known) >= MAX_PASSAGES:
            if len(kept.by_filter) >= MAX_FILTERS:
                kept.by_filter.clear()
            known = kept.by_filter[key] = {}
        return known
