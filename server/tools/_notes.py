"""What the tools on notes have in common: arguments, and what the activity log says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Protocol

from pydantic import Field

from server.call import Call
from vaults.activity_log.entries import ActivityEntry
from vaults.context import run_in
from vaults.domain.secrets import redaction
from vaults.domain.text.fields import Text

Etag = Annotated[Text | None, Field(max_length=64, description="of the version you read")]
DryRun = Annotated[bool, Field(description="only show the diff")]


class NoteChangeResult(Protocol):
    """A result that says which note changed, if one did."""

    @property
    def path(self) -> str | None: ...
    @property
    def changed(self) -> bool | None: ...


def note_change_entry(verb: str) -> Callable[[object, NoteChangeResult], ActivityEntry | None]:
    """What the activity log says of a change: the note, if it came to one."""

    def say(_: object, told: NoteChangeResult) -> ActivityEntry | None:
        return ActivityEntry("note_changed", told.path, f"{verb} {told.path}") if told.changed else None

    return say


SECRET_SCAN_LIMIT = 262_144
"""Characters of a text that are looked through: a secret is pasted into what is written now, not into a long log."""


async def warn_of_secrets(call: Call, written: Mapping[str, Any]) -> list[str]:
    """What to tell the writer of secrets in a note: the file is the writer's own, and written as it is."""
    texts = {
        name: value[:SECRET_SCAN_LIMIT] if isinstance(value, str) else value for name, value in written.items() if value
    }
    if not texts:
        return []
    return await run_in(call.vault.shared.pool, redaction.secret_warnings, texts, call.vault.shared.hygiene)
