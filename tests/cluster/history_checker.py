"""Whether a history is one that a single server without faults could have given: the model is a log for each vault.

Each answered call shows how long the log was at some moment between its beginning and its end: a write by the place
that it got, a read by how much of the log it was told. So no call may show less than a call that ended before it began
(else something was lost, or stale), nor anything that was not asked for yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.cluster.history import Entry, History, Operation, TakeOver

KINDS = ("lost", "forked", "fenced", "stale", "unexplained")
"""Acknowledged writes that are gone; logs with two ways; entries of who was not holder any more; reads of the past;
what else no server may say."""


@dataclass(frozen=True, slots=True)
class Violation:
    kind: str
    vault: str
    what: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was looked at, and what is wrong with it."""

    counts: dict[str, int]
    violations: list[Violation]

    def __str__(self) -> str:
        found = Counter(each.kind for each in self.violations)
        lines = [", ".join(f"{number:,} {what}" for what, number in self.counts.items())]
        lines.append(", ".join(f"{found[kind]} {kind}" for kind in KINDS))
        lines += [f"{each.kind}: vault {each.vault}: {each.what}" for each in self.violations[:20]]
        return "\n".join(lines)


def check(history: History) -> Verdict:
    """Every operation, id by id."""
    violations = [
        violation
        for vault, entries in history.logs.items()
        for violation in (
            *_check_log(vault, entries, history),
            *_check_operations(vault, entries, [each for each in history.operations if each.vault == vault]),
        )
    ]
    outcomes = Counter(
        f"{'writes' if each.wrote is not None else 'reads'} {each.outcome}" for each in history.operations
    )
    entries = sum(map(len, history.logs.values()))
    counts = {"vaults": len(history.logs), "entries": entries, "take-overs": len(history.take_overs), **outcomes}
    return Verdict(counts, violations)


def _check_log(vault: str, entries: list[Entry], history: History) -> Iterator[Violation]:
    """One way, without a gap, and each part of it by who held the vault then."""
    if [each.seq for each in entries] != list(range(1, history.heads[vault] + 1)):
        yield Violation("forked", vault, f"its entries are not 1 to {history.heads[vault]}")
    for id_, times in Counter(id_ for each in entries for id_ in each.ids).items():
        if times > 1:
            yield Violation("forked", vault, f"id {id_} is in it {times} times")
    for before, after in pairwise(entries):
        if after.epoch < before.epoch:
            yield Violation("fenced", vault, f"entry {after.seq} of epoch {after.epoch} follows epoch {before.epoch}")
    yield from _check_take_overs(vault, entries, [each for each in history.take_overs if each.vault == vault])


def _check_take_overs(vault: str, entries: list[Entry], taken: list[TakeOver]) -> Iterator[Violation]:
    for epoch, times in Counter(each.epoch for each in taken).items():
        if times > 1:
            yield Violation("forked", vault, f"epoch {epoch} was taken {times} times")
    for take_over in taken:
        for entry in entries[take_over.head :]:
            if entry.epoch < take_over.epoch:
                yield Violation("fenced", vault, f"entry {entry.seq} of epoch {entry.epoch} is later than {take_over}")


def _check_operations(vault: str, entries: list[Entry], operations: list[Operation]) -> Iterator[Violation]:
    """What was said of the log, against the log, and in time."""
    place = {id_: entry for entry in entries for id_ in entry.ids}
    asked_at = {each.wrote: each.began for each in operations if each.wrote is not None}
    shown: list[tuple[Operation, int]] = []
    for operation in operations:
        yield from _check_outcome(vault, operation, place)
        if operation.outcome == "ok":
            seen = operation.seq if operation.wrote is not None else _length_read(operation, entries)
            if seen is None:
                yield Violation("unexplained", vault, f"a read was told what no log ever was: {operation.ids}")
                continue
            shown.append((operation, seen))
            yield from _check_foresight(vault, operation, entries[:seen], asked_at)
    yield from _check_order(vault, shown)


def _check_outcome(vault: str, operation: Operation, place: dict[int, Entry]) -> Iterator[Violation]:
    if operation.outcome == "bug":
        yield Violation("unexplained", vault, operation.said)
    if operation.wrote is None:
        return
    entry = place.get(operation.wrote)
    if operation.outcome == "ok" and entry is None:
        yield Violation("lost", vault, f"id {operation.wrote} was acknowledged at {operation.seq} and is not there")
    elif operation.outcome == "ok" and entry and (entry.seq, entry.epoch) != (operation.seq, operation.epoch):
        yield Violation("forked", vault, f"id {operation.wrote} was acknowledged at {operation.seq}, is at {entry.seq}")
    elif operation.outcome == "fenced" and entry is not None:
        yield Violation("fenced", vault, f"id {operation.wrote} was refused and is at {entry.seq}")


def _length_read(operation: Operation, entries: list[Entry]) -> int | None:
    """How much of the log a read was told, or None where it is no beginning of it."""
    length, told = 0, set(operation.ids)
    left = len(told)
    for entry in entries:
        if not left:
            break
        if not told.issuperset(entry.ids):
            return None
        left -= len(entry.ids)
        length = entry.seq
    return length if left == 0 else None


def _check_foresight(
    vault: str, operation: Operation, seen: list[Entry], asked_at: dict[int, float]
) -> Iterator[Violation]:
    for entry in seen:
        for id_ in entry.ids:
            if asked_at.get(id_, float("inf")) > operation.ended:
                yield Violation("unexplained", vault, f"id {id_} was seen before anybody asked for it")


def _check_order(vault: str, shown: list[tuple[Operation, int]]) -> Iterator[Violation]:
    """By time: whoever began after another ended has seen at least as much; and more, if both wrote."""
    events = sorted(
        [(operation.began, 1, index) for index, (operation, _) in enumerate(shown)]
        + [(operation.ended, 0, index) for index, (operation, _) in enumerate(shown)]
    )
    ended_with, at_least = 0, {}
    for _, begins, index in events:
        if begins:
            at_least[index] = ended_with
        else:
            ended_with = max(ended_with, shown[index][1])
    for index, (operation, seen) in enumerate(shown):
        if seen < at_least[index]:
            kind = "stale" if operation.wrote is None else "forked"
            yield Violation(kind, vault, f"{seen} entries were shown after {at_least[index]} had been")
