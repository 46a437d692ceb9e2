"""A tool that imports a file inside the server, so that the import shares its event loop with live calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field
from vaults.domain.import_export.imports import import_jsonl

from auth.roles import Role
from server.call import Call
from server.tool_spec import ADDS, Arguments, tool


class ImportArguments(Arguments):
    path: str = Field(description="a file of JSON lines on the server")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of the lines."""

    stored: int
    rejected: int


@tool(role=Role.WRITER, effect=ADDS, render=lambda done: f"Stored {done.stored}.")
async def import_file(call: Call, args: ImportArguments) -> ImportResult:
    """Import a file of memories into this vault."""
    tally = await import_jsonl(call.vault, call.actor, Path(args.path))
    return ImportResult(tally.stored, tally.rejected)
