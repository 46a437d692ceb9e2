"""Where the threshold of a vault stands: what its callers say of what they find moves it from the setting, within
bounds.

That a finding tool was the wrong one, once hits were seen, says that too much passes for an answer; that it was the
right one, or that something was opened right after an answer that nothing seems likely, that too little does. Read from
the rows of feedback and of the activity log, so a restart, a copy and a restored backup know the same.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from vaults.db.sql import Reader

FINDING = ("recall", "search", "context")
OPENING = ("memory_get", "fetch", "note_read")
"""Tools whose feedback counts, and those that open what was found."""

DOUBTED = "found nothing likely to answer"
"""What the activity log says of a call that was answered so."""

BOUND = 0.4
"""How far the threshold may move, in log odds: 0.4 to between 0.31 and 0.5."""

HALF_LIFE_DAYS, HORIZON_DAYS = 30.0, 180.0
"""Days in which a word loses half of its weight, and after which it counts no more."""

ENOUGH = 5.0
"""Weight of words that half convinces: one is easily a slip."""

OPENED_WEIGHT, OPENED_S = 0.5, 600.0
"""What an opened hit counts beside a word of feedback, and seconds after the answer in which it is taken for one."""

MOST_ROWS, MOST_EVENTS = 5_000, 20_000
"""Newest rows of feedback, and of the activity log, that are read."""


@dataclass(frozen=True, slots=True)
class RelevanceVote:
    """A word of ``owner`` at a stored time: above 0 for a higher threshold, below for a lower one."""

    owner: str
    at: str
    weight: float


@dataclass(frozen=True, slots=True)
class RelevanceThreshold:
    """From where a hit of this vault is ``likely`` to answer, and ``usual``: the setting it moved from. Why: words of
    feedback that hits were ``wrong`` or ``useful``, and hits ``opened`` although nothing seemed likely, of the last 180
    days; ``callers``: among whom each has an equal share, however much he says."""

    likely: float
    usual: float
    wrong: int = 0
    useful: int = 0
    opened: int = 0
    callers: int = 0


@dataclass(slots=True)
class ThresholdCache:
    """The threshold of one open vault, read again each hour and after any feedback."""

    _known: tuple[tuple[float, str, int], RelevanceThreshold] | None = field(default=None)

    def of(self, tx: Reader, usual: float, now: str) -> RelevanceThreshold:
        """The threshold at a stored time. ``usual``: the setting."""
        key = (usual, now[:13], int(tx.value("SELECT MAX(seq) FROM feedback") or 0))
        known = self._known
        if known is None or known[0] != key:
            self._known = known = key, read_threshold(tx, usual, now)
        return known[1]


def read_threshold(tx: Reader, usual: float, now: str) -> RelevanceThreshold:
    """The threshold by the rows there are."""
    said, opened = list(_read_feedback(tx)), list(_read_opened(tx))
    votes = [vote for vote in (*said, *opened) if _age_days(vote.at, now) <= HORIZON_DAYS]
    callers = count_callers(tx, votes, now)
    return RelevanceThreshold(
        likely=move_threshold(usual, weigh_votes(votes, callers, now)),
        usual=usual,
        wrong=sum(vote.weight > 0 for vote in votes),
        useful=sum(vote.weight == -1 for vote in votes),
        opened=sum(vote.weight == -OPENED_WEIGHT for vote in votes),
        callers=callers,
    )


def move_threshold(usual: float, opinion: float) -> float:
    """The threshold at an opinion of -1…1. One that silences nothing, or all, is meant so."""
    if not 0 < usual < 1:
        return usual
    return round(1 / (1 + math.exp(-math.log(usual / (1 - usual)) - BOUND * opinion)), 4)


def weigh_votes(votes: Collection[RelevanceVote], callers: int, now: str) -> float:
    """What all of them say together, -1…1: the mean over all ``callers``, of which those who say nothing count as
    content. However much one says, he moves it by his share at most."""
    nets, weights = defaultdict[str, float](float), defaultdict[str, float](float)
    for vote in votes:
        left = 0.5 ** (max(0.0, _age_days(vote.at, now)) / HALF_LIFE_DAYS)
        nets[vote.owner] += vote.weight * left
        weights[vote.owner] += abs(vote.weight) * left
    opinions = (nets[owner] / (weights[owner] + ENOUGH) for owner in nets)
    return sum(opinions) / max(1, callers, len(nets))


def count_callers(tx: Reader, votes: Collection[RelevanceVote], now: str) -> int:
    """Who has a share: whoever was here within the horizon."""
    rows = tx.all("SELECT owner, MAX(seen_at) FROM sessions GROUP BY owner")
    return len({vote.owner for vote in votes} | {row[0] for row in rows if _age_days(row[1], now) <= HORIZON_DAYS})


def _read_feedback(tx: Reader) -> Iterator[RelevanceVote]:
    tools = ", ".join(f"'{name}'" for name in FINDING)
    for owner, at, kind in tx.all(
        f"SELECT owner, at, type FROM feedback WHERE tool IN ({tools}) AND type IN ('right_tool', 'wrong_tool')"
        " ORDER BY seq DESC LIMIT :most",
        {"most": MOST_ROWS},
    ):
        yield RelevanceVote(owner, at, 1.0 if kind == "wrong_tool" else -1.0)


def _read_opened(tx: Reader) -> Iterator[RelevanceVote]:
    """The first thing opened after each doubtful answer of a session, before it asked again."""
    tools = ", ".join(f"'{name}'" for name in (*FINDING, *OPENING))
    rows = tx.all(
        "SELECT session, owner, at, tool, summary FROM (SELECT * FROM events ORDER BY seq DESC LIMIT :most) AS newest"
        f" WHERE outcome = 'ok' AND session IS NOT NULL AND tool IN ({tools}) ORDER BY seq",
        {"most": MOST_EVENTS},
    )
    doubted: dict[int, str] = {}
    for session, owner, at, tool, summary in rows:
        before = doubted.pop(session, None)
        if tool in FINDING:
            if summary == DOUBTED:
                doubted[session] = at
        elif before is not None and _age_days(before, at) * 86_400 <= OPENED_S:
            yield RelevanceVote(owner, at, -OPENED_WEIGHT)


def _age_days(at: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds() / 86_400
