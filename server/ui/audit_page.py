"""The audit of a vault: who did what when, narrowed and page by page, and whether the record itself is whole.

Whether it is whole is looked at when somebody asks: all of the chain is read for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from server.ui.forms import whole_number
from server.ui.page import VaultPage
from server.ui.vault_view import Complaint, NoSuchVault, VaultView, complaint_of

PER_PAGE = 50
FILTERS = ("subject", "tool", "outcome", "id", "day")
TARGETS = 5
"""Ids and paths of an entry that are named; of more their number is told."""

LONGEST_CURSOR = 15


@dataclass(frozen=True, slots=True)
class CheckedChain:
    """What a look at the whole chain found. ``signed_at``: the time of the last entry the server vouches for."""

    state: Mapping[str, Any] = field(default_factory=dict)
    signed_at: str | None = None
    complaint: Complaint | None = None


async def show(view: VaultView) -> Response:
    """The page. The filters narrow it, ``before`` continues it, ``check`` has the record looked at."""
    given = view.request.query_params
    asked = {name: given.get(name, "").strip() for name in FILTERS}
    outcome = await view.ask("audit", limit=PER_PAGE + 1, **to_query(asked, given.get("before", "")))
    complaint = complaint_of(outcome)
    if outcome.unknown_tool and outcome.code == "not_found":
        raise NoSuchVault("nothing is here")
    if complaint is not None and complaint.code == "forbidden":
        return view.page("refused", here="upkeep", status=complaint.status, complaint=complaint)
    entries = [] if complaint is not None else outcome.content.get("entries", [])
    return view.page(
        "audit",
        here="upkeep",
        place="audit",
        status=200 if complaint is None else complaint.status,
        asked=asked,
        complaint=complaint,
        entries=entries[:PER_PAGE],
        following=_address_after(asked, entries[PER_PAGE - 1]["seq"]) if len(entries) > PER_PAGE else None,
        targets=TARGETS,
        checked=await _check(view) if given.get("check") == "yes" else None,
    )


def to_query(asked: Mapping[str, str], before: str) -> dict[str, Any]:
    """The arguments of the tool. A day that is none goes there as it was typed, to be refused in the tool's words."""
    query: dict[str, Any] = {name: asked[name] for name in ("subject", "tool", "outcome", "id") if asked[name]}
    if day := asked["day"]:
        try:
            first = date.fromisoformat(day)
            query |= {"since": f"{first}T00:00:00Z", "until": f"{first + timedelta(days=1)}T00:00:00Z"}
        except (ValueError, OverflowError):
            query["since"] = day
    if seq := whole_number(before, LONGEST_CURSOR):
        query["before"] = seq
    return query


def _address_after(asked: Mapping[str, str], seq: int) -> str:
    return f"?{urlencode({**{name: value for name, value in asked.items() if value}, 'before': seq})}"


async def _check(view: VaultView) -> CheckedChain:
    outcome = await view.ask("audit", action="verify")
    complaint = complaint_of(outcome)
    if complaint is not None:
        return CheckedChain(complaint=complaint)
    state = outcome.content["chain"]
    if not state["signed"]:
        return CheckedChain(state)
    last = await view.ask("audit", limit=1, before=state["signed"] + 1)
    found = last.content.get("entries", []) if last.ok else []
    return CheckedChain(state, found[0]["at"] if found else None)


PAGE = VaultPage("audit", show)
