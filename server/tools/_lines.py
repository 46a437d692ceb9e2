"""Stored text as the answers of tools show it."""

from __future__ import annotations

from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.text.plurals import pluralize
from vaults.domain.text.sanitize import to_one_line

MAX_LINE = 500
"""Max characters of a title in an answer: as many as a title may have."""


def to_line(text: str, most: int = MAX_LINE) -> str:
    """The text on one line, with nothing hidden in it: it must not pass for a line of the server."""
    return to_one_line(text, most)


ONLY_SHOWN = "Only shown, nothing is written: call again with dry_run false."

ALREADY_SO = "Nothing to change: it is so already."


def describe_change(done: EditResult) -> str:
    """What a call that changes notes did: wrote, showed what it would write, or found everything so already."""
    if done.changed:
        return "Written."
    return ONLY_SHOWN if done.diff else ALREADY_SO


def describe_followed_links(done: EditResult) -> str:
    """A further sentence on the links in other notes, if there are any."""
    return f" {pluralize(done.links, 'link')} {'followed' if done.changed else 'would follow'}." if done.links else ""
