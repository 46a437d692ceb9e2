"""A tool that imports a file inside the server, so that the import shares its event loop with live calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import EDITS, Arguments, tool
from vaults.domain.import_export.source_import import ImportPlan
from vaults.domain.import_export.vault_import import import_into_vault
from vaults.sources.jsonl import SOURCE


class ImportArguments(Arguments):
    path: str = Field(description="a file of JSON lines on the server")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of the lines."""

    stored: int
    rejected: int


@tool(role=Role.WRITER, effect=EDITS, head=lambda done: f"Stored {done.stored}.")
async def import_file(call: Call, args: ImportArguments) -> ImportResult:
    """Import a file of memories into this vault."""
    tally = await import_into_vault(call.vault, call.actor, ImportPlan(SOURCE, Path(args.path)))
    return ImportResult(tally.stored, tally.rejected)
