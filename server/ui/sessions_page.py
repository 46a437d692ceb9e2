"""Sessions: who worked when on what, and what each of them did and left."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from server.ui.page import VaultPage
from server.ui.vault_view import VaultView, complaint_of

STATES = ("active", "paused", "completed")
PER_PAGE = 50
TOKENS = 40_000


async def show(view: VaultView) -> Response:
    """The page. ``status`` and the days narrow it."""
    given = view.request.query_params
    asked = {name: given.get(name, "").strip() for name in ("status", "since", "until")}
    if asked["status"] not in STATES:
        asked["status"] = ""
    arguments: dict[str, Any] = {name: value for name, value in asked.items() if value}
    outcome = await view.ask("session_history", limit=PER_PAGE, max_tokens=TOKENS, **arguments)
    complaint = complaint_of(outcome)
    found = {"sessions": [], "total": 0} if complaint is not None else outcome.content
    status = 200 if complaint is None else complaint.status
    return view.page(
        "sessions", here="sessions", status=status, asked=asked, states=STATES, found=found, complaint=complaint
    )


PAGE = VaultPage("sessions", show)
