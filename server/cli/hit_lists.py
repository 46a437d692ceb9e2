"""Hits as people read them: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_EXCERPT = 320
"""Max characters shown of a hit's text."""

LEAD = 60
"""Characters shown before the first word that matched, where that stands far in."""

LIKELY = 0.4
"""The score from which on a hit is shown as a likely answer: where ``search.likely`` stands by default."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A hit, safe to print: what is hidden in a text shows, and no character of it steers a terminal."""

    score: float
    kind: str
    name: str
    about: str  # who, when, and the id, which fetch and memory_get take
    excerpt: str
    highlights: Sequence[str]


def show_hits(found: Mapping[str, Any]) -> None:
    """Print the hits of an answer of ``search`` or ``recall`` on stdout, and what is to be said of it on stderr."""
    from server.cli.output import say, say_on_stderr

    for warning in found.get("warnings", ()):
        say_on_stderr(f"strongroom: {_plain(warning)}")
    rows = [_to_row(hit) for hit in found.get("hits", ())]
    if not rows:
        say_on_stderr("nothing found")
    elif sys.stdout.isatty():
        _show_table(rows)
    else:
        for row in rows:
            say("  ".join(filter(None, (f"{row.score:.2f}", row.kind, row.name, row.about))))
            say(f"      {row.excerpt}")
    total = found.get("total", len(rows))
    if rows and total > len(rows):
        say_on_stderr(f"{len(rows)} of {total}: --limit shows more")


def _to_row(hit: Mapping[str, Any]) -> _Row:
    text = _plain(hit.get("text") or hit.get("content") or hit.get("snippet") or "")
    words = [_plain(word) for word in hit.get("highlights", ())]
    kind, type_ = hit.get("kind", ""), hit.get("type", "")
    title = _plain(hit.get("title", ""))
    place = [_plain(hit[name]) for name in ("section", "place") if hit.get(name)]
    when = hit.get("occurred_at") or hit.get("modified_at") or hit.get("created_at") or ""
    return _Row(
        score=hit.get("score", 0.0),
        kind=_plain(type_ or kind),
        name="" if text.startswith(title.rstrip("…")) and not place else " > ".join(dict.fromkeys([title, *place])),
        about="  ".join(filter(None, (_plain(hit.get("author", "")), when[:10], _plain(hit["id"])))),
        excerpt=_excerpt(text, words),
        highlights=words,
    )


def _plain(text: str) -> str:
    from vaults.domain.text.sanitize import escape_hidden

    return " ".join(escape_hidden(text).split())


def _excerpt(text: str, words: Sequence[str]) -> str:
    """The part of a text around the first word that matched."""
    if len(text) <= MAX_EXCERPT:
        return text
    lower = text.lower()
    first = min((at for word in words if (at := lower.find(word.lower())) >= 0), default=0)
    start = first - LEAD if first > MAX_EXCERPT - LEAD else 0
    shown = text[start : start + MAX_EXCERPT].strip()
    return ("…" if start else "") + shown + ("…" if start + MAX_EXCERPT < len(text) else "")


def _show_table(rows: Sequence[_Row]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, expand=False)
    table.add_column("SCORE", no_wrap=True)
    table.add_column("KIND", no_wrap=True, style="cyan")
    table.add_column("FOUND", overflow="fold")
    for row in rows:
        excerpt = Text(row.excerpt)
        if row.highlights:
            excerpt.highlight_words(row.highlights, style="bold", case_sensitive=False)
        lines = [Text(row.name, style="bold")] if row.name else []
        found = Text("\n").join([*lines, excerpt, Text(row.about, style="dim")])
        score = Text(f"{row.score:.2f}", style="green" if row.score >= LIKELY else "yellow")
        table.add_row(score, Text(row.kind), found)
    Console().print(table)
