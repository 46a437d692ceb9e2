"""A team's vault of everything it reads, asked over HTTP: notes, memories, documents, code and a conversation."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.e2e.golden_material import (
    CHECKOUTS,
    DOCUMENTS,
    FILLER,
    MEMORIES,
    NOTES,
    QUESTIONS,
    TRANSCRIPT,
    GoldenQuestion,
    lay_out_checkout,
)
from tests.e2e.test_working_day import asking
from tests.server.http.serving import served

TOP = 3
MEMORY_COUNT = 300


@asynccontextmanager
async def filled_site(folder: Path) -> AsyncIterator[Client]:
    """A client of a server on the vault."""
    for path, text in NOTES.items():
        note = folder / "data" / "vaults" / "main" / "notes" / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text)
    code = folder / "code"
    code.mkdir()
    for package in CHECKOUTS:
        lay_out_checkout(code, package)
    flags: dict[str, Any] = {"embedding.engine": "auto", "collections.roots": [str(code)]}
    async with served(folder / "data", **flags) as running, running.client("owner", query="?tools=full") as client:
        await _fill(client, code)
        yield client


async def _fill(client: Client, code: Path) -> None:
    ask = asking(client)
    for package in CHECKOUTS:
        await ask("collections", action="add", name=package, kind="code", root=str(code / f"{package}-checkout"))
    texts = [
        *MEMORIES,
        *(("observation", f"Buoy {n}: {FILLER[n % 3]} ({n})") for n in range(MEMORY_COUNT - len(MEMORIES))),
    ]
    await asyncio.gather(*(ask("remember", type=kind, content=text, on_duplicate="store") for kind, text in texts))
    for each in DOCUMENTS:
        data = base64.b64encode(each.to_bytes()).decode()
        stored = await ask("ingest", name=each.name, data=data, uri=f"file:///shelf/{each.name}")
        assert stored["counts"] == {"new": 1}, (each.name, stored)
    parts = [
        {"text": text, "role": role, "author": role, "at": f"2026-03-02T10:0{number}:00Z"}
        for number, (role, text) in enumerate(TRANSCRIPT)
    ]
    await ask(
        "transcripts",
        action="push",
        lines=[{"kind": "document", "format": "transcript", "external_id": "day-1", "parts": parts}],
    )
    while not _is_caught_up(await ask("status")):  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0.2)


def _is_caught_up(status: dict[str, Any]) -> bool:
    """Whether everything that was laid out was read, and has its vectors."""
    is_read = status["notes"]["notes"] == len(NOTES) and all(each["read_at"] for each in status["collections"])
    return is_read and not status["embedding"]["pending"]


@pytest.mark.e2e
async def test_forty_questions_are_answered_with_their_places_and_open(tmp_path: Path) -> None:
    async with filled_site(tmp_path) as client:
        wrong = [each for question in QUESTIONS if (each := await _find_fault(asking(client), question))]
    assert not wrong, "\n".join(wrong)


async def _find_fault(ask: Any, question: GoldenQuestion) -> str | None:
    """What is wrong with the answer to a question, if anything."""
    found = await ask("search", query=question.query, limit=TOP, max_tokens=4000)
    hits = [hit for hit in found["hits"] if hit["kind"] == question.kind and question.holds in hit["text"]]
    if not hits:
        return f"{question.query}: not among {[(hit['kind'], hit['title'], hit['text'][:60]) for hit in found['hits']]}"
    said = " ".join(hits[0].get(name) or "" for name in ("id", "title", "url", "place", "section"))
    if missing := [word for word in question.place.split() if word not in said]:
        return f"{question.query}: the hit does not say {missing}: {said}"
    opened = await ask("fetch", id=hits[0]["id"])
    return None if question.holds in opened["text"] else f"{question.query}: fetch opens something else"
