"""``strongroom search`` and ``strongroom recall``: what agents find, for people."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from server.cli.tool_calls import AsSubject, InVault, Json, ToolCall, make_call

TOKENS_PER_HIT = 400
"""Room of the answer: enough for what is shown of a hit."""

MAX_TOKENS = 100_000

Query = Annotated[list[str], typer.Argument(metavar="QUERY", help="what to look for; several words are one question")]
Mode = Annotated[Literal["hybrid", "keyword", "semantic"], typer.Option(help="keyword: by words; semantic: by meaning")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="hits at most")]
MinScore = Annotated[float, typer.Option(min=0, max=1, help="drop weaker hits")]
Tag = Annotated[list[str] | None, typer.Option(help="with this tag; repeats")]


def add_to(app: typer.Typer) -> None:
    app.command("search")(search)
    app.command("recall")(recall)


def search(
    ctx: typer.Context,
    query: Query,
    vault: InVault = "main",
    subject: AsSubject = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="note, memory, document, code, transcript: only these; repeats")
    ] = None,
    folder: Annotated[str | None, typer.Option(help="notes below this folder")] = None,
    tag: Tag = None,
    mode: Mode = "hybrid",
    limit: Limit = 10,
    min_score: MinScore = 0.0,
    as_json: Json = False,
) -> None:
    """Search everything in a vault. Memories, notes, documents, code and transcripts, as the tool search does."""
    given = {"kinds": kind, "folder": folder, "tags": tag}
    _find(ctx, "search", query, (vault, subject), given | _common(mode, limit, min_score), as_json=as_json)


def recall(
    ctx: typer.Context,
    query: Query,
    vault: InVault = "main",
    subject: AsSubject = None,
    type_: Annotated[list[str] | None, typer.Option("--type", help="such as decision; repeats")] = None,
    tag: Tag = None,
    since: Annotated[str | None, typer.Option(help="happened or stored from then on: 2026-05-01, 30d")] = None,
    until: Annotated[str | None, typer.Option(help="and until then")] = None,
    mode: Mode = "hybrid",
    limit: Limit = 10,
    min_score: MinScore = 0.0,
    as_json: Json = False,
) -> None:
    """Find what was remembered. As the tool recall does."""
    given = {"types": type_, "tags": tag, "since": since, "until": until}
    _find(ctx, "recall", query, (vault, subject), given | _common(mode, limit, min_score), as_json=as_json)


def _common(mode: str, limit: int, min_score: float) -> dict[str, Any]:
    room = max(2000, min(MAX_TOKENS, limit * TOKENS_PER_HIT))
    return {"mode": mode, "limit": limit, "min_score": min_score, "max_tokens": room}


def _find(
    ctx: typer.Context,
    tool: str,
    query: list[str],
    where: tuple[str, str | None],
    given: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    from server.cli.hit_lists import show_hits
    from server.cli.output import say_json

    arguments = {"query": " ".join(query), **{name: value for name, value in given.items() if value is not None}}
    found = make_call(ctx, ToolCall(tool, arguments, *where), as_json=as_json)
    if as_json:
        say_json(found)
    else:
        show_hits(found)
