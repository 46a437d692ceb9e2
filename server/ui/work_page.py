"""Who is at work in a vault, what was left for others and what is claimed: what changes while a page is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from server.dispatch import CallOutcome
from server.ui.page import VaultPage
from server.ui.vault_view import VaultView, complaint_of

RECENT_SESSIONS = 6

CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("session_history", {"limit": RECENT_SESSIONS}),
    ("handoff_load", {}),
    ("claims", {"action": "list"}),
)
"""The calls of this part of a page."""


async def show(view: VaultView) -> Response:
    """The page: the part alone, which an open page fetches when it hears of a change."""
    outcomes = await view.ask_all(*CALLS)
    complaint = complaint_of(outcomes[0])
    if complaint is not None:
        return view.page("refused", here="home", status=complaint.status, complaint=complaint)
    return view.page("work", here="home", **work_values(outcomes))


def work_values(outcomes: list[CallOutcome]) -> dict[str, Any]:
    """What the part shows. ``outcomes``: of ``CALLS``, in their order; of a failed one nothing."""
    history, handoff, claims = (outcome.content if outcome.ok else {} for outcome in outcomes)
    return {
        "sessions": history.get("sessions", []),
        "handoff": handoff.get("handoff"),
        "claims": claims.get("claims", []),
    }


PAGE = VaultPage("work", show, is_use=False)
