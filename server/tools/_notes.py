"""What the tools on notes share: arguments, and their entries in the activity log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from server.call import Call
from vaults.activity_log.entries import ActivityEntry
from vaults.context import run_in
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Text

Etag = Annotated[Text | None, Field(max_length=64, description="of the version you read")]
DryRun = Annotated[bool, Field(description="only show the diff")]


def note_change_entry(verb: str) -> Callable[[object, object], ActivityEntry | None]:
    """Makes the activity entry of a change: it names the note, if one changed."""

    def say(_: object, result: object) -> ActivityEntry | None:
        if not isinstance(result, EditResult) or not result.changed:
            return None
        return ActivityEntry("note_changed", result.path, f"{verb} {result.path}")

    return say


SECRET_SCAN_LIMIT = 262_144
"""Max characters of a text that are scanned: a secret is pasted into what is written now, not into a long log."""


QUICK_TO_SCAN = 500
"""Max characters scanned at once: at most 0.1 ms, less than it takes to have a thread do it."""


async def warn_of_secrets(call: Call, written: Mapping[str, Any]) -> list[str]:
    """Warnings for the writer about secrets in a note. The file is the writer's own, so it is written unchanged."""
    texts = {
        name: value[:SECRET_SCAN_LIMIT] if isinstance(value, str) else value for name, value in written.items() if value
    }
    if not texts:
        return []
    settings = call.vault.shared.hygiene
    if all(isinstance(text, str) for text in texts.values()) and sum(map(len, texts.values())) <= QUICK_TO_SCAN:
        return redaction.secret_warnings(texts, settings)
    return await run_in(call.vault.shared.pool, redaction.secret_warnings, texts, settings)
