"""What the tools on notes have in common: arguments, and what the activity log says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Protocol

from pydantic import Field

from vaults.domain.memory import Text
from vaults.ledger.entries import Noted

Etag = Annotated[Text | None, Field(max_length=64, description="of the version you read")]
DryRun = Annotated[bool, Field(description="only show the diff")]


class Told(Protocol):
    """A result that says which note changed, if one did."""

    @property
    def path(self) -> str | None: ...
    @property
    def changed(self) -> bool | None: ...


def noted(verb: str) -> Callable[[object, Told], Noted | None]:
    """What the activity log says of a change: the note, if it came to one."""

    def say(_: object, told: Told) -> Noted | None:
        return Noted("note_changed", told.path, f"{verb} {told.path}") if told.changed else None

    return say
