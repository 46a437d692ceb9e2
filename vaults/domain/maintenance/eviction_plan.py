"""What goes to keep a vault's limits, and what must not. Pure.

Each kind by itself, the least recently used first. Kinds give way in order: transcripts, then documents and code, and
memories last, where they may go at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from vaults.settings import EvictableKind

EvictionReason = Literal["retention", "max_size", "plan"]

STAGES: tuple[tuple[EvictableKind, ...], ...] = (("transcript",), ("document", "code"), ("memory",))
"""Kinds that give way together; those of a stage go before the next is asked."""


@dataclass(frozen=True, slots=True)
class EvictionCandidate:
    """An item that may be in the way. ``size``: characters of its text; ``used``: when it was last changed or opened;
    ``stored``: when it came here; ``owner``: whose it is alone; ``pin``: why it stays whatever the limit is."""

    kind: EvictableKind
    seq: int
    id: str
    title: str
    size: int
    used: str
    stored: str
    owner: str | None = None
    pin: str | None = None


@dataclass(frozen=True, slots=True)
class KindNeed:
    """What a kind has to give. ``before``: what was used and stored before this time goes; None: age does not count.
    ``over``: characters above its own limit."""

    before: str | None = None
    over: int = 0


@dataclass(frozen=True, slots=True)
class EvictionNeed:
    """What a vault has to give: ``over`` characters, of whichever kind comes first, and what its kinds have to."""

    over: int = 0
    by_plan: bool = False
    kinds: Mapping[EvictableKind, KindNeed] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        """Whether there is nothing to give, age aside."""
        return self.over <= 0 and all(each.over <= 0 for each in self.kinds.values())

    def wants(self, kinds: Iterable[EvictableKind], used: str = "") -> bool:
        """Whether something of these kinds that was last used at ``used`` or later may have to go."""
        own = [self.kinds[kind] for kind in kinds if kind in self.kinds]
        return bool(own) and (
            self.over > 0 or any(each.over > 0 or (each.before is not None and used < each.before) for each in own)
        )

    def less(self, candidate: EvictionCandidate) -> EvictionNeed:
        """What is left to give once this one went."""
        own = self.kinds[candidate.kind]
        given = {candidate.kind: KindNeed(own.before, own.over - candidate.size)}
        return EvictionNeed(self.over - candidate.size, self.by_plan, {**self.kinds, **given})


@dataclass(frozen=True, slots=True)
class PlannedEviction:
    """An item that goes, and why."""

    candidate: EvictionCandidate
    reason: EvictionReason


@dataclass(slots=True)
class EvictionPlan:
    """What goes, in order; what is pinned in its place, and characters of that; what then is still to give."""

    need: EvictionNeed
    goes: list[PlannedEviction] = field(default_factory=list)
    pinned: list[EvictionCandidate] = field(default_factory=list)

    def add(self, candidates: Iterable[EvictionCandidate]) -> None:
        """Take the next candidates of a stage, the least recently used first."""
        for candidate in candidates:
            reason = find_reason(candidate, self.need)
            if reason is None:
                continue
            if candidate.pin is not None:
                self.pinned.append(candidate)
                continue
            self.goes.append(PlannedEviction(candidate, reason))
            self.need = self.need.less(candidate)

    @property
    def size(self) -> int:
        """Characters that go."""
        return sum(each.candidate.size for each in self.goes)


def find_reason(candidate: EvictionCandidate, need: EvictionNeed) -> EvictionReason | None:
    """Why an item would have to go; None if it need not."""
    own = need.kinds.get(candidate.kind)
    if own is None:
        return None
    # An old history that was brought in yesterday is kept for as long as everything else.
    if own.before is not None and max(candidate.used, candidate.stored) < own.before:
        return "retention"
    if own.over > 0:
        return "max_size"
    if need.over > 0:
        return "plan" if need.by_plan else "max_size"
    return None
