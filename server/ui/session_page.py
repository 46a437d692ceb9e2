"""A session: what it was for, what it did, what it left for whoever came next, and what it claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from server.ui.memory_page import is_memory_id
from server.ui.page import VaultPage
from server.ui.vault_view import VaultView, complaint_of

TOKENS = 100_000

CLAIM = "claim"
"""The kind of event that says of a resource that it was claimed."""


async def show(view: VaultView) -> Response:
    """The page."""
    handle = view.request.path_params["id"]
    if not handle:
        return view.go("sessions")
    outcome = await view.ask("session_history", id=handle, max_tokens=TOKENS)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="sessions", status=complaint.status, complaint=complaint)
    session, handoffs = outcome.content["sessions"][0], outcome.content.get("handoffs", [])
    events = session.get("activity_log", [])
    return view.page(
        "session",
        here="sessions",
        session=session,
        events=[(each, place_of(each)) for each in events if each["event_type"] not in (CLAIM, "release")],
        cut=outcome.content.get("truncated", False),
        left=[each for each in handoffs if each.get("session") == session["id"]],
        taken=[each for each in handoffs if (each.get("receipt") or {}).get("session") == session["id"]],
        claims=list_claimed(session, events),
    )


def place_of(event: Mapping[str, Any]) -> str | None:
    """Where what an event was about is shown, below the vault's address; None: nowhere."""
    resource, kind = event.get("resource") or "", event["event_type"]
    if kind.startswith("memory") and is_memory_id(resource):
        return f"memories/{resource}"
    return f"notes/{quote(resource)}" if kind == "note_changed" and resource else None


def list_claimed(session: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool]]:
    """What it claimed, and whether it holds it still."""
    held = session.get("claims", [])
    claimed = [each["resource"] for each in events if each["event_type"] == CLAIM and each.get("resource")]
    return [(resource, resource in held) for resource in dict.fromkeys([*held, *claimed])]


PAGE = VaultPage("sessions/{id:path}", show)
