"""What a look over the vault finds: every check, what is wrong first, and what can be mended from here. For admins,
when they ask: it reads much.

What a repair would do is said on a page of its own before it is done. The tools have no dry run of it, so that page
names the steps of the repair and the findings it is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from ops.doctor.check import GRAVE
from server.ui.page import VaultPage
from server.ui.vault_view import Complaint, VaultView, complaint_of


@dataclass(frozen=True, slots=True)
class Mending:
    """A call that mends findings. ``name``: of its form and its texts; ``steps``: of what it does, in order."""

    name: str
    tool: str
    steps: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)


REPAIR = Mending("repair", "doctor", ("changes", "temporaries", "sessions", "vectors"), {"action": "repair"})
REINDEX = Mending("reindex", "reindex", ("index", "search"))
MENDINGS = (REPAIR, REINDEX)

REPAIRED = frozenset({"changes", "temporaries", "sessions", "vectors"})
"""Checks whose findings a repair sees to."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What was done just now: ``lines`` as a repair tells them, or ``counts`` of an index that is built anew."""

    mending: Mending
    lines: Sequence[str] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)


def mending_of(check: Mapping[str, Any]) -> Mending | None:
    """What mends a finding; None: nothing to be had from here, or nothing to mend."""
    if check["status"] == "ok" or check["name"] not in REPAIRED or not check.get("todo"):
        return None
    # Passages the model refused stay refused until the index is built anew.
    return REINDEX if check["name"] == "vectors" and check["status"] in GRAVE else REPAIR


async def show(view: VaultView) -> Response:
    """The page, or with ``mend`` in its address the one that says what would be done."""
    mending = _mending_named(view.request.query_params.get("mend", ""))
    return await _page(view) if mending is None or not view.writes else await _ask_first(view, mending)


async def change(view: VaultView) -> Response:
    """Mend, as the person, and say what was done."""
    mending = _mending_named(view.text("do"))
    if mending is None:
        return view.go("findings")
    outcome = await view.ask(mending.tool, **mending.arguments)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return await _ask_first(view, mending, complaint)
    done = outcome.content
    return await _page(view, Mended(mending, done.get("repaired", ()), done if mending is REINDEX else {}))


async def _page(view: VaultView, mended: Mended | None = None) -> Response:
    checks = await _look(view)
    if isinstance(checks, Complaint):
        return view.page("refused", here="upkeep", status=checks.status, complaint=checks)
    return view.page(
        "findings",
        here="upkeep",
        place="findings",
        grave=[each for each in checks if each["status"] in GRAVE],
        notices=[each for each in checks if each["status"] == "notice"],
        fine=[each for each in checks if each["status"] == "ok"],
        mendings={each["name"]: found.name for each in checks if (found := mending_of(each))} if view.writes else {},
        mended=mended,
    )


async def _ask_first(view: VaultView, mending: Mending, complaint: Complaint | None = None) -> Response:
    """The page that says what would be done, with the form whose button is its person's word."""
    checks = await _look(view)
    if isinstance(checks, Complaint):
        return view.page("refused", here="upkeep", status=checks.status, complaint=checks)
    concerned = [each for each in checks if mending_of(each) is mending]
    return view.page(
        "findings_mend",
        here="upkeep",
        place="findings",
        status=200 if complaint is None else complaint.status,
        mending=mending,
        concerned=concerned,
        complaint=complaint,
    )


async def _look(view: VaultView) -> Sequence[Mapping[str, Any]] | Complaint:
    outcome = await view.ask("doctor", action="diagnosis")
    return complaint_of(outcome) or outcome.content["checks"]


def _mending_named(name: str) -> Mending | None:
    return next((each for each in MENDINGS if each.name == name), None)


PAGE = VaultPage("findings", show, change)
