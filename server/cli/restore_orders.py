"""What a command that restores was asked for, what it answers, and that it stands in the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ops.backup.archive_reader import Opener
    from server.services import Services


@dataclass(frozen=True, slots=True)
class RestoreOrder:
    """What was asked for; ``opener`` opens backups."""

    archive: str
    opener: Opener
    vault: str | None
    as_new: str | None
    dry_run: bool
    grants: bool
    note: str | None
    memory: str | None
    replace: bool
    at: str | None = None


@dataclass(frozen=True, slots=True)
class RestoreAnswer:
    """What is said of it; ``complete``: all of it is in place."""

    lines: list[str]
    details: dict[str, Any]
    complete: bool = True


@asynccontextmanager
async def recorded(
    services: Services, asked: RestoreOrder, action: str, vault: str, **details: Any
) -> AsyncIterator[None]:
    """In the audit, with the backup's name, unless nothing is changed."""
    from ops.audit.entries import MAX_NAME
    from server.cli.admin_acts import act_of

    if asked.dry_run:
        yield
        return
    backup = asked.archive.rpartition("/")[2][:MAX_NAME]
    async with services.audit.acting(act_of("restore", action, vault, backup=backup, **details)):
        yield
