"""``strongroom graph export``: how the notes of a vault hang together, as a picture or for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from server.cli.tool_calls import AsSubject, InVault, Json, ToolCall, make_call

if TYPE_CHECKING:
    from collections.abc import Mapping

GraphFormat = Literal["svg", "graphml", "json", "mermaid"]
FORMATS: Mapping[str, GraphFormat] = {
    ".svg": "svg", ".graphml": "graphml", ".json": "json", ".mmd": "mermaid", ".mermaid": "mermaid",
}  # fmt: skip
"""By the ending of a file."""

ALL_NOTES, MAX_TOKENS = 10_000, 100_000
"""The most the tool gives at once."""


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="graph", help="How notes hang together.", no_args_is_help=True)
    group.callback()(_group)
    group.command("export")(export)
    app.add_typer(group)


def _group() -> None:
    """Without a callback, typer makes a group of one command that command."""


def export(
    ctx: typer.Context,
    vault: InVault = "main",
    subject: AsSubject = None,
    to: Annotated[Path | None, typer.Option(help="file to write; default: stdout")] = None,
    shape: Annotated[
        GraphFormat | None, typer.Option("--format", help="default: by the ending of the file, else mermaid")
    ] = None,
    note: Annotated[str | None, typer.Option(help="only around this note: its path or name")] = None,
    folder: Annotated[str | None, typer.Option(help="only notes below this folder")] = None,
    depth: Annotated[int | None, typer.Option(min=1, max=3, help="steps around the note")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=ALL_NOTES, help="notes at most, the most central first; not for svg")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the graph of a vault's notes. A picture (svg), graphml, json or mermaid."""
    form = shape or _format_of(to)
    given = {"path": note, "folder": folder, "depth": depth, "limit": _limit(form, limit)}
    arguments = {name: value for name, value in given.items() if value is not None}
    arguments |= {"action": "export", "format": form, "max_tokens": MAX_TOKENS}
    found = make_call(ctx, ToolCall("graph", arguments, vault, subject, "whole"), as_json=as_json)
    if to is not None:
        _write(to, found["export"])
    _tell(found, form, to, as_json=as_json)


def _format_of(to: Path | None) -> GraphFormat:
    from vaults.errors import InvalidArgument

    if to is None:
        return "mermaid"
    form = FORMATS.get(to.suffix.lower())
    if form is None:
        raise InvalidArgument("--format", f"is needed: {to.name} ends with none of {', '.join(FORMATS)}")
    return form


def _limit(form: GraphFormat, limit: int | None) -> int | None:
    from vaults.errors import InvalidArgument

    if form != "svg":
        return limit or ALL_NOTES
    if limit is not None:
        raise InvalidArgument("--limit", "is not for svg: a picture shows as many notes as can be read")
    return None


def _write(to: Path, text: str) -> None:
    from vaults.files.atomic import write_atomic

    write_atomic(to.absolute(), text.encode())


def _tell(found: Mapping[str, Any], form: GraphFormat, to: Path | None, *, as_json: bool) -> None:
    from server.cli.output import say, say_json, say_on_stderr

    total, is_cut = found.get("total", 0), bool(found.get("truncated"))
    if as_json:
        where = {"export": found["export"]} if to is None else {"to": str(to)}
        say_json({"format": form, "notes": total, "truncated": is_cut, **where})
    elif to is None:
        sys.stdout.buffer.write(found["export"].encode())
        sys.stdout.flush()
    else:
        say(f"the graph of {total} notes is written to {to}")
    if is_cut:
        say_on_stderr("not all of it fits, the most central notes are there: --folder or --note show a part whole")
