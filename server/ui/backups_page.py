"""The backups of a vault: which there are, which was proven and when, one made or proven now, and what is done unasked.

A restore stands on the command line alone, since it exchanges the vault that serves this page: its line is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from auth.roles import Role
from server.ui.page import VaultPage
from server.ui.vault_view import Complaint, VaultView, complaint_of

SHOWN = 100
"""Backups on the page: as many as are recorded of a vault."""

RESTORE = "strongroom restore latest --vault"
"""The command that brings a vault back; before its name."""

DOINGS = ("run", "drill")
"""What the forms of the page ask for: actions of the tool."""

DRILL_OUTCOMES = frozenset({"ok", "failed", "no_backup", "begun"})
"""Those that have words of their own; of others the code is told."""


@dataclass(frozen=True, slots=True)
class ShownBackup:
    """``kind``: of its name; ``proven``: when a drill of it passed; None: none did, or one since of a newer backup."""

    run: Mapping[str, Any]
    kind: str
    proven: str | None


@dataclass(frozen=True, slots=True)
class BackupDoing:
    """What was asked for just now: an action, and what the tool answered or why it did not do it."""

    action: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    complaint: Complaint | None = None


async def show(view: VaultView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: VaultView) -> Response:
    """Make a backup or hold a drill, as the person, and say what came of it."""
    action = view.text("do")
    if action not in DOINGS:
        return view.go("backups")
    outcome = await view.ask("backup", action=action)
    return await _page(view, BackupDoing(action, outcome.content, complaint_of(outcome)))


async def _page(view: VaultView, done: BackupDoing | None = None) -> Response:
    outcome = await view.ask("backup", action="list", limit=SHOWN)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="upkeep", status=complaint.status, complaint=complaint)
    found = outcome.content
    return view.page(
        "backups",
        here="upkeep",
        place="backups",
        status=200 if done is None or done.complaint is None else done.complaint.status,
        found=found,
        backups=list_shown(found.get("backups", ()), found.get("drill")),
        offers=view.writes and view.role >= Role.ADMIN,
        outcomes=DRILL_OUTCOMES,
        restore_line=f"{RESTORE} {view.vault}",
        done_now=done,
    )


def list_shown(runs: Sequence[Mapping[str, Any]], drill: Mapping[str, Any] | None) -> list[ShownBackup]:
    """The backups as the page shows them."""
    proven = drill.get("backup") if drill else None
    return [
        ShownBackup(
            run, kind_of(run.get("name", "")), drill.get("passed") if drill and run.get("name") == proven else None
        )
        for run in runs
    ]


def kind_of(name: str) -> str:
    """What a backup of this name is; ``none``: it failed, and has no name."""
    ends = {".snapshot": "snapshot", ".tar.zst.age": "encrypted", ".tar.zst": "archive"}
    return next((kind for end, kind in ends.items() if name.endswith(end)), "none")


PAGE = VaultPage("backups", show, change)
