"""What ``strongroom connect`` says of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.setup.clients.config_edits import ConnectionChange

OUTCOMES = {
    "connected": "wrote {path}",
    "unchanged": "{path} says so already",
    "restored": "{path} is as it was",
    "removed": "{path} has changed since; took {name} out of it",
    "deleted": "removed {path}, which held nothing else",
}


def report_change(change: ConnectionChange, name: str) -> None:
    """Say what became of it. ``name``: what was taken out."""
    from server.cli.output import say

    say(OUTCOMES[change.outcome].format(path=change.path, name=name))
    if change.backup is not None:
        say(f"what it was before: {change.backup}")
