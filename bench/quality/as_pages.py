"""Judged paragraphs as sections of longer texts: eight to a document, or to a note, each under its title."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.quality.sets import JudgedDocument, JudgedTask
from bench.wire import RawConnection, VaultEndpoint, result_of

SECTIONS, LINES_AT_ONCE = 8, 64


def push_pages(endpoint: VaultEndpoint, task: JudgedTask, documents: Sequence[JudgedDocument]) -> None:
    """Store the texts of one vault. Raises ``RuntimeError`` for a line that is not taken."""
    with RawConnection(endpoint.port) as to:
        if task.as_pages == "notes":
            for number, some in enumerate(_pages(documents)):
                text = "\n\n".join(f"## {each.arguments['title']}\n\n{each.arguments['content']}" for each in some)
                result_of(to.ask(endpoint.call("note_write", {"path": _name(number), "content": f"{text}\n"})))
            return
        lines = to_lines(documents)
        for start in range(0, len(lines), LINES_AT_ONCE):
            part = lines[start : start + LINES_AT_ONCE]
            done = result_of(to.ask(endpoint.call("imports", {"action": "push", "source": "harvest", "lines": part})))
            if done["done"] != len(part):
                raise RuntimeError(f"{endpoint.vault} took {done['done']} of {len(part)} lines: {done.get('rejected')}")


def to_lines(documents: Sequence[JudgedDocument]) -> list[Mapping[str, Any]]:
    """Lines of documents, a part for each text."""
    return [_to_line(number, some) for number, some in enumerate(_pages(documents))]


def count_pages(documents: Sequence[JudgedDocument]) -> int:
    """How many there are of them."""
    return -(-len(documents) // SECTIONS)


def _pages(documents: Sequence[JudgedDocument]) -> Iterator[Sequence[JudgedDocument]]:
    return (documents[start : start + SECTIONS] for start in range(0, len(documents), SECTIONS))


def _name(number: int) -> str:
    return f"pages/{number:04}.md"


def _to_line(number: int, some: Sequence[JudgedDocument]) -> Mapping[str, Any]:
    parts = [
        {"position": place, "heading": each.arguments["title"], "text": each.arguments["content"]}
        for place, each in enumerate(some)
    ]
    name = _name(number)
    return {"kind": "document", "format": "markdown", "title": name, "external_id": name, "parts": parts}
