"""The home of a vault: what a new session is told, who is at work, what waits, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from server.dispatch import CallOutcome
from server.ui.catalogue import load_catalogue
from server.ui.page import VaultPage
from server.ui.vault_view import CLIENT, VaultView, complaint_of
from server.ui.work_page import CALLS, work_values

BRIEF_TOKENS = 4000
RECENT_MEMORIES = 8
CORRECTIONS = 10
NEAR = 0.9
"""The share of a limit from which on it is told."""

_SHOWN_BESIDE = frozenset({"handoff", "claims"})
"""What the pack tells in words that the page has a place of its own for."""

_FAILS_WHOLE = frozenset({"vault_unavailable", "vault_quarantined", "overloaded", "rate_limited", "timeout"})


@dataclass(frozen=True, slots=True)
class Concern:
    """Something a person should look at. ``kind``: a key of the catalogue; ``text``, ``todo``: what is wrong, and what
    is right or helps; ``number``: how many."""

    kind: str
    text: str = ""
    todo: str = ""
    number: int = 1


async def show(view: VaultView) -> Response:
    """The page."""
    calls: list[tuple[str, Mapping[str, Any]]] = [
        ("context", {"budget_tokens": BRIEF_TOKENS}),
        ("status", {}),
        ("memory_list", {"limit": RECENT_MEMORIES}),
        ("corrections", {"action": "list", "status": "open", "limit": CORRECTIONS}),
        *CALLS,
    ]
    outcomes = await view.ask_all(*calls)
    found = {tool: outcome for (tool, _), outcome in zip(calls, outcomes, strict=True)}
    broken = complaint_of(found["context"])
    if broken is not None and broken.code in _FAILS_WHOLE:
        return view.page("refused", here="home", status=broken.status, complaint=broken)
    brief = _content(found["context"])
    return view.page(
        "home",
        here="home",
        brief=[each for each in brief.get("brief", ()) if each["kind"] not in _SHOWN_BESIDE],
        told=[*brief.get("rules", ()), *brief.get("memories", ()), *brief.get("passages", ())],
        state=_content(found["status"]),
        memories=_content(found["memory_list"]).get("memories", []),
        concerns=list(_list_concerns(found)),
        **work_values(outcomes[-len(CALLS) :]),
        is_first_run=_knows_only_the_console(found["session_history"]),
        complaints=[each for outcome in outcomes if (each := complaint_of(outcome))],
    )


def _content(outcome: CallOutcome) -> Mapping[str, Any]:
    """The result; of a failed call nothing: its complaint stands on the page."""
    return outcome.content if outcome.ok else {}


def _knows_only_the_console(history: CallOutcome) -> bool:
    """Whether no agent ever called, as far as a few sessions tell: with more than these it is nobody's first day."""
    sessions = _content(history).get("sessions", [])
    is_whole = history.ok and history.content["total"] == len(sessions)
    return is_whole and all(each.get("client") == CLIENT for each in sessions)


def _list_concerns(found: Mapping[str, CallOutcome]) -> Iterator[Concern]:
    for correction in _content(found["corrections"]).get("corrections", ()):
        yield Concern("correction", correction["wrong"], correction["right"])
    status, digits = _content(found["status"]), load_catalogue().digits
    pending = status.get("embedding", {}).get("pending", 0)
    if pending:
        yield Concern("pending", number=pending)
    for bound in status.get("limits", {}).get("bounds", ()):
        if bound["used"] >= NEAR * bound["limit"]:
            used, limit = digits(bound["used"]), digits(bound["limit"])
            yield Concern("limit", f"{bound['what']}: {used} / {limit}")
    skipped = status.get("notes", {}).get("skipped", 0)
    if skipped:
        yield Concern("skipped", number=skipped)


PAGE = VaultPage("", show)
