"""A vault's log in memory, which forgets nothing, and can be told to fail.

Covers nothing by itself: used by the tests of the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.vault_log import LogEntry, Placement

VAULT = "0197a000-0000-7000-8000-000000000001"
PLACEMENT = Placement(VAULT, "a", 1, 0)


@dataclass
class MemoryLog:
    """Implements ``VaultLog`` for one vault. Replaced bases and their entries stay, for ``as_of``."""

    held: Placement = PLACEMENT
    stored: list[LogEntry] = field(default_factory=list)
    bases: dict[int, list[bytes]] = field(default_factory=dict)
    on_append: Callable[[int], None] = lambda seq: None
    is_away = False
    loses_answer = False

    def append(self, placement: Placement, payload: bytes) -> Placement:
        if self.is_away:
            raise LogUnavailable
        if placement != self.held:
            raise Fenced
        seq = placement.head + 1
        self.stored.append(LogEntry(seq, placement.epoch, payload))
        self.held = replace(placement, head=seq)
        if self.loses_answer:
            raise LogUnavailable
        self.on_append(seq)
        return self.held

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        assert vault == VAULT
        return iter([each for each in self.stored if each.seq > after])

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        assert vault == VAULT
        newest = max(self.bases, default=None)
        return None if newest is None else (newest, iter(self.bases[newest]))

    def sizes(self, vault: str) -> tuple[int, int]:
        newest = max(self.bases, default=0)
        since = [len(each.payload) for each in self.stored if each.seq > newest]
        return sum(map(len, self.bases.get(newest, []))), sum(since)

    def note_purge(self, placement: Placement) -> Placement:
        if self.is_away:
            raise LogUnavailable
        if (placement.server, placement.epoch) != (self.held.server, self.held.epoch):
            raise Fenced
        self.held = replace(self.held, purged=self.held.head)
        return self.held

    def replace_base(self, placement: Placement, seq: int, parts: Iterable[bytes]) -> None:
        whole = list(parts)
        if self.is_away:
            raise LogUnavailable
        if (placement.server, placement.epoch) != (self.held.server, self.held.epoch):
            raise Fenced
        self.bases[seq] = whole

    def take_over(self, server: str) -> Placement:
        """Another server, or the same one again, holds the vault."""
        self.held = replace(self.held, server=server, epoch=self.held.epoch + 1)
        return self.held

    def as_of(self, seq: int) -> MemoryLog:
        """The log as it was when ``seq`` was its last entry."""
        bases = {at: parts for at, parts in self.bases.items() if at <= seq}
        return MemoryLog(
            replace(self.held, head=seq), [each for each in self.stored if max(bases) < each.seq <= seq], bases
        )


@dataclass
class RebasedLog:
    """Implements ``LogSource`` as the database does: entries that a base took the place of are gone."""

    log: MemoryLog

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        return self.log.base(vault)

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        if after < max(self.log.bases, default=0):
            raise LogUnavailable("a base took the place of these entries")
        return self.log.entries(vault, after)
