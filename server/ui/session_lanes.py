"""The sessions of a day as a picture: a lane for each person and program, a bar from a session's first call to its
last.

Only places and lengths are worked out here; the template draws them. Bars of a lane that would cover each other stand
below each other, and none is narrower than a finger needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

WIDTH = 1152
"""Of the picture, in pixels: it is not scaled, so that its texts stay readable, but scrolled where there is less."""

LEAST = 24
"""Width and height of a bar at least, which is what fingers hit."""

NAME_HEIGHT, TRACK, GAP, HOURS_HEIGHT = 22, 28, 10, 24
HOURS_APART = 2
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class LaneBar:
    """A session in the picture. ``y``: of its upper edge; ``goes_on``: it began the day before, or ends the day
    after."""

    session: Mapping[str, Any]
    x: float
    y: float
    width: float
    goes_on: bool

    @property
    def end(self) -> float:
        return self.x + self.width


@dataclass(frozen=True, slots=True)
class SessionLane:
    """Who worked, with which program. ``y``: where its name stands."""

    who: str
    client: str
    y: float


@dataclass(frozen=True, slots=True)
class HandoffArrow:
    """From the session that left a handoff to the one that took it over. ``path``: of an SVG path."""

    handoff: Mapping[str, Any]
    giver: Mapping[str, Any]
    taker: Mapping[str, Any]
    path: str


@dataclass(frozen=True, slots=True)
class LanePicture:
    """``hours``: names of the hours, with their places."""

    day: date
    height: float
    lanes: Sequence[SessionLane]
    bars: Sequence[LaneBar]
    arrows: Sequence[HandoffArrow]
    hours: Sequence[tuple[str, float]]


def sessions_of_day(sessions: Iterable[Mapping[str, Any]], day: date) -> list[Mapping[str, Any]]:
    """Those that were under way on a day."""
    first = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return [each for each in sessions if _start(each) < first + timedelta(days=1) and _end(each) >= first]


def draw_lanes(
    sessions: Sequence[Mapping[str, Any]], handoffs: Sequence[Mapping[str, Any]], day: date
) -> LanePicture | None:
    """The picture of a day; None where nobody worked on it."""
    shown = sorted(sessions_of_day(sessions, day), key=lambda each: (_start(each), each["id"]))
    if not shown:
        return None
    by_lane: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in shown:
        by_lane.setdefault((each["who"], each.get("client") or ""), []).append(each)
    lanes, bars, y = [], [], 0.0
    for (who, client), its in by_lane.items():
        lanes.append(SessionLane(who, client, y + NAME_HEIGHT - 8))
        placed = _place(its, day, y + NAME_HEIGHT)
        bars += placed
        y = max(each.y for each in placed) + TRACK + GAP
    hours = [(f"{hour:02}", hour * WIDTH / 24) for hour in range(0, 24, HOURS_APART)]
    return LanePicture(day, y + HOURS_HEIGHT, lanes, bars, _draw_arrows(bars, handoffs, day), hours)


def _place(sessions: Sequence[Mapping[str, Any]], day: date, top: float) -> list[LaneBar]:
    """The bars of a lane, each in the first of its tracks that is free there."""
    placed: list[LaneBar] = []
    ends: list[float] = []
    for each in sessions:
        first, last = place_of(_start(each), day), place_of(_end(each), day)
        x, right = max(0.0, first), min(float(WIDTH), last)
        width = max(float(LEAST), right - x)
        x = min(x, WIDTH - width)
        track = next((at for at, end in enumerate(ends) if end <= x), len(ends))
        ends[track : track + 1] = [x + width + 2]
        placed.append(LaneBar(each, round(x, 1), top + track * TRACK, round(width, 1), first < 0 or last > WIDTH))
    return placed


def _draw_arrows(bars: Sequence[LaneBar], handoffs: Iterable[Mapping[str, Any]], day: date) -> list[HandoffArrow]:
    """Handoffs that were taken over, where both sessions are in the picture."""
    by_id = {each.session["id"]: each for each in bars}
    arrows = []
    for each in handoffs:
        giver, taker = by_id.get(each.get("session") or ""), by_id.get((each.get("receipt") or {}).get("session") or "")
        if giver is None or taker is None or giver is taker:
            continue
        left = _within(giver, place_of(_moment(each["created_at"]), day))
        taken = _within(taker, place_of(_moment(each["receipt"]["at"]), day))
        down = taker.y > giver.y
        start, end = giver.y + (LEAST if down else 0), taker.y + (0 if down else LEAST)
        middle = (start + end) / 2
        path = f"M{left:.1f} {start:.1f}C{left:.1f} {middle:.1f} {taken:.1f} {middle:.1f} {taken:.1f} {end:.1f}"
        arrows.append(HandoffArrow(each, giver.session, taker.session, path))
    return arrows


def place_of(moment: datetime, day: date) -> float:
    """Where a moment stands on the line of a day; outside of it below 0 or beyond ``WIDTH``."""
    return (moment - datetime(day.year, day.month, day.day, tzinfo=UTC)).total_seconds() / DAY_S * WIDTH


def _within(bar: LaneBar, x: float) -> float:
    return min(max(x, bar.x + 4), bar.end - 4)


def _start(session: Mapping[str, Any]) -> datetime:
    return _moment(session["started_at"])


def _end(session: Mapping[str, Any]) -> datetime:
    """Its last call. A clock that was set back does not let it end before it began."""
    return max(_start(session), _moment(session["seen_at"]))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
