"""Sessions: who worked when on what, as a list and, for a day, as a picture of lanes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from starlette.responses import Response

from server.ui.page import VaultPage
from server.ui.session_lanes import LEAST, WIDTH, draw_lanes, sessions_of_day
from server.ui.vault_view import VaultView, complaint_of

STATES = ("active", "paused", "completed")
PER_PAGE = 50
TOKENS = 40_000

REACH = timedelta(days=2)
"""How long before a day a session may have begun to be shown on it."""


async def show(view: VaultView) -> Response:
    """The page. ``status`` and the days narrow the list; ``day`` has it and the picture show that day alone."""
    given = view.request.query_params
    asked = {name: given.get(name, "").strip() for name in ("status", "since", "until")}
    if asked["status"] not in STATES:
        asked["status"] = ""
    day = read_day(given.get("day", ""))
    arguments: dict[str, Any] = {name: value for name, value in asked.items() if value}
    if day is not None:
        arguments |= {"since": f"{day - REACH}T00:00:00Z", "until": f"{day}T23:59:59.999Z"}
    outcome = await view.ask("session_history", limit=PER_PAGE, max_tokens=TOKENS, handoffs=True, **arguments)
    complaint = complaint_of(outcome)
    found: Mapping[str, Any] = {"sessions": [], "total": 0} if complaint is not None else outcome.content
    sessions = found["sessions"] if day is None else sessions_of_day(found["sessions"], day)
    drawn = day or _day_of(sessions)
    return view.page(
        "sessions",
        here="sessions",
        status=200 if complaint is None else complaint.status,
        asked=asked,
        states=STATES,
        sessions=sessions,
        total=found["total"] if day is None else len(sessions),
        cut=day is not None and len(found["sessions"]) < found["total"],
        day=drawn,
        picture=draw_lanes(sessions, found.get("handoffs", ()), drawn),
        width=WIDTH,
        least=LEAST,
        days=(drawn - timedelta(days=1), drawn + timedelta(days=1)),
        complaint=complaint,
    )


def read_day(text: str) -> date | None:
    """A day of an address; None for what is none, or has no days around it."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day if date(1970, 1, 5) < day < date(9000, 1, 1) else None


def _day_of(sessions: list[Mapping[str, Any]]) -> date:
    """The day of the newest session, or today."""
    newest = max((each["seen_at"] for each in sessions), default="")
    return read_day(newest[:10]) or datetime.now(UTC).date()


PAGE = VaultPage("sessions", show)
