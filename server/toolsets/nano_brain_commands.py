"""nano-brain's command line: that of its first version (2026.1.0), and what of the newest has a counterpart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from server.toolsets import nano_brain
from server.toolsets.memories import WHOLE
from server.toolsets.old_command import CommandLine, OldCommand, OurCommand
from server.toolsets.old_tool import OldAnswer, OldTool, OldToolRefusal, OurTools, old_tool
from vaults.files.paths import is_note

_SERVER = "the server is run, and ended, by whoever started it: strongroom serve"
_SEARCH = {"-n": "limit", "--limit": "limit", "-c": "collection", "--collection": "collection"}
Count = Annotated[int, Field(ge=1, le=500)]


def _searching(mode: Literal["keyword", "semantic", "hybrid"], summary: str) -> OldTool:
    @old_tool(calls="search", name=summary)
    async def find(
        ask: OurTools,
        *,
        query: str,
        limit: Count = 10,
        collection: str | None = None,
        min_score: Annotated[float, Field(ge=0, le=1)] = 0,
        workspace: str | None = None,
        files: bool = False,
    ) -> OldAnswer:
        asked = {"query": query, "mode": mode, "limit": limit, "min_score": min_score, "max_tokens": WHOLE}
        found = await ask("search", **asked, collection=collection, workspace=workspace)
        rows = [_row(each) for each in found["hits"]]
        text = "\n".join(each["path"] for each in rows) if files else "\n".join(map(_lines, rows))
        return OldAnswer({"results": rows}, text)

    return find


def _row(hit: Mapping[str, Any]) -> dict[str, Any]:
    kind = "notes" if is_note(hit["id"]) else hit["kind"]
    return {
        "id": hit["id"],
        "path": hit["id"],
        "collection": kind,
        "title": hit["title"],
        "snippet": hit["text"],
        "score": hit["score"],
        "docid": hit["id"],
    }


def _lines(row: Mapping[str, Any]) -> str:
    snippet = f"  {row['snippet']}\n" if row["snippet"] else ""
    return (
        f"[{row['docid']}] {row['collection']}/{row['path']}\n  Score: {row['score']:.4f} | {row['title']}\n{snippet}"
    )


@old_tool(calls="fetch")
async def get(
    ask: OurTools,
    *,
    id: str,
    from_line: Annotated[int | None, Field(ge=1)] = None,
    max_lines: Annotated[int | None, Field(ge=1)] = None,
) -> OldAnswer:
    """Read a document, or some lines of it."""
    name = nano_brain.to_ref(id)
    try:
        found = await ask("fetch", id=name, from_line=from_line, max_lines=max_lines, max_bytes=1_000_000)
    except OldToolRefusal as refusal:
        missing = OldToolRefusal(f"Document not found: {id}", "not_found")
        raise missing if refusal.code == "not_found" else refusal from None
    items = found.get("items") or [found]
    heads = [f"Document: {each['id']}\nTitle: {each['title']}\nDocid: {each['id']}\n\n{each['text']}" for each in items]
    return OldAnswer({"documents": items}, "\n\n".join(heads))


@old_tool(calls="status")
async def collection_list(ask: OurTools) -> OldAnswer:
    """What is searched."""
    now = await ask("status")
    counts = {"notes": now["notes"]["notes"], "memory": now["memories"]["living"]}
    counts |= {each["name"]: each["documents"] for each in now["collections"]}
    lines = [f"  {name}: {count} documents" for name, count in counts.items()]
    return OldAnswer({"collections": counts}, "\n".join(["Collections:", *lines]))


def _find(name: str, mode: Literal["keyword", "semantic", "hybrid"], summary: str) -> OldCommand:
    known = {**_SEARCH, "--min-score": "min_score"}
    return OldCommand(name, summary, _searching(mode, name), ("query",), joins=True, options=known, part="results")


_STDIO = OurCommand(
    ("stdio", "--tools", "nano-brain"), {"--port": ""},
    instead={"--http": OurCommand(("serve",), {"--port": "--port"}, {"--http": ""}, vault="none")},
)  # fmt: skip

_COMMANDS = (
    _find("search", "keyword", "find by words"),
    _find("vsearch", "semantic", "find by meaning"),
    _find("query", "hybrid", "find by words and meaning"),
    OldCommand(
        "get", "read a document, or some lines", get, ("id",), ignored={"--full": False},
        options={"--from": "from_line", "--lines": "max_lines"},
    ),
    OldCommand("multi-get", "read several", nano_brain.memory_multi_get, ("pattern",),
               options={"--max-bytes": "maxBytes"}),
    OldCommand("write", "add to the log of the day, or to MEMORY.md", nano_brain.memory_write, ("content",)),
    OldCommand("wake-up", "where things stand", nano_brain.memory_wake_up),
    OldCommand("status", "what is indexed", nano_brain.memory_status),
    OldCommand("update", "whether the index is up to date", nano_brain.memory_update),
    OldCommand("embed", "make vectors anew", ours=OurCommand(("reindex",), flags={"--force": ""})),
    OldCommand("reindex", "build the index anew", ours=OurCommand(("reindex",))),
    OldCommand("harvest", "keep conversations with agents", ours=OurCommand(("harvest", "--once"))),
    OldCommand("collection list", "what is searched", collection_list),
    OldCommand("collection add", "index a folder",
               ours=OurCommand(("collection", "add"), {"--pattern": "--include"}, arguments=2)),
    OldCommand("collection remove", "stop that", ours=OurCommand(("collection", "remove"), arguments=1)),
    OldCommand("collection rename", "rename it", ours=OurCommand(("collection", "rename"), arguments=2)),
    OldCommand("mcp", "serve nano-brain's tools on stdin and stdout; --http: over HTTP", ours=_STDIO),
    OldCommand("mcp stop", "end the daemon", instead=_SERVER),
    OldCommand("daemon", "run in the background", instead=_SERVER),
    OldCommand("serve", "run the server",
               ours=OurCommand(("serve",), {"--port": "--port", "--host": "--host"}, vault="none")),
    OldCommand("stop", "end it", instead=_SERVER),
    OldCommand("init", "make a vault for this project", ours=OurCommand(("init",), {"--root": "PATH"}, vault="none")),
    OldCommand("doctor", "whether all is well", ours=OurCommand(("doctor",), flags={"--json": "--json"})),
    OldCommand("version", "version and commit", ours=OurCommand(("version",), vault="none")),
)  # fmt: skip

COMMAND_LINE = CommandLine("nano-brain", _COMMANDS)
