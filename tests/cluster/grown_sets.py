"""What callers of tools did and were told, and whether one server without faults could have told it.

A place (the memories of a vault, the lines of a note) is a set of ids that only grows. So each read shows at least what
was acknowledged, or shown to anybody, before it began, and nothing that was not asked for before it ended; no id is
there twice, as a call that was sent twice would put it; and in the end everything acknowledged is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

GrownOutcome = Literal["ok", "refused", "unknown", "bug"]
"""``refused``: an answer that says that it failed, and may be called again; ``unknown``: no answer."""

GROWN_KINDS = ("lost", "doubled", "stale", "unexplained")


@dataclass(frozen=True, slots=True)
class ToolOperation:
    """One call, between ``began`` and ``ended`` of one clock: adds the id ``added``, or reads ``ids``, as often as each
    is there. ``server``: whom it was asked of."""

    place: str
    began: float
    ended: float
    outcome: GrownOutcome
    added: int | None = None
    ids: tuple[int, ...] = ()
    server: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class GrownViolation:
    kind: str
    place: str
    what: str


def check_grown(operations: list[ToolOperation], last: dict[str, tuple[int, ...]]) -> list[GrownViolation]:
    """``last``: what is in each place in the end, read from a server that has nothing but what PostgreSQL holds."""
    places = {each.place for each in operations} | set(last)
    return [
        violation
        for place in sorted(places)
        for violation in _check_place(place, [each for each in operations if each.place == place], last.get(place, ()))
    ]


def _check_place(place: str, operations: list[ToolOperation], last: tuple[int, ...]) -> Iterator[GrownViolation]:
    for each in operations:
        if each.outcome == "bug":
            yield GrownViolation("unexplained", place, each.said)
    for id_, times in Counter(last).items():
        if times > 1:
            yield GrownViolation("doubled", place, f"id {id_} is there {times} times")
    reads = [each for each in operations if each.added is None and each.outcome == "ok"]
    asked_at = {each.added: each.began for each in operations if each.added is not None}
    yield from _check_foresight(place, reads, asked_at)
    for id_, (since, how) in _known_from(operations).items():
        if id_ not in last:
            yield GrownViolation("lost", place, f"id {id_} was {how} and is not there in the end")
        for read in (each for each in reads if each.began > since and id_ not in each.ids):
            kind = "stale" if id_ in last else "lost"
            yield GrownViolation(kind, place, f"id {id_} was {how}, and {read.server} did not show it later")


def _check_foresight(
    place: str, reads: list[ToolOperation], asked_at: dict[int | None, float]
) -> Iterator[GrownViolation]:
    for read in reads:
        for id_ in read.ids:
            if asked_at.get(id_, float("inf")) > read.ended:
                yield GrownViolation("unexplained", place, f"id {id_} was seen before anybody asked for it")


def _known_from(operations: list[ToolOperation]) -> dict[int, tuple[float, str]]:
    """From when on everybody must be shown an id, and why."""
    known: dict[int, tuple[float, str]] = {}
    for each in sorted(operations, key=lambda operation: operation.ended):
        if each.outcome != "ok":
            continue
        for id_ in (each.added,) if each.added is not None else each.ids:
            known.setdefault(id_, (each.ended, "acknowledged" if each.added is not None else "shown"))
    return known


def summary(operations: list[ToolOperation], violations: list[GrownViolation]) -> str:
    """What was looked at, and the verdict."""
    found = Counter(each.kind for each in violations)
    counts = Counter(f"{'writes' if each.added is not None else 'reads'} {each.outcome}" for each in operations)
    places = {each.place for each in operations}
    lines = [
        ", ".join([f"{len(places)} places", *(f"{number:,} {what}" for what, number in counts.items())]),
        ", ".join(f"{found[kind]} {kind}" for kind in GROWN_KINDS),
        *(f"{each.kind}: {each.place}: {each.what}" for each in violations[:20]),
    ]
    return "\n".join(lines)
