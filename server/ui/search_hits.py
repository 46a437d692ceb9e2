"""Hits as a page shows them: where each leads, the parts of its score as bars, and its text cut where words match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

LIFT_RANGE = 0.5
"""What fills the bar of a lift: most add less than this to a score."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A part of a score. ``width``: of its bar, in hundredths."""

    name: str
    value: float
    width: int


def show_hits(
    hits: Iterable[Mapping[str, Any]], home_of: Callable[[Mapping[str, Any]], str]
) -> Iterator[dict[str, Any]]:
    """The hits with what a page adds. ``home_of``: the address of the vault a hit is in."""
    hits = list(hits)
    best = max((hit["signals"].get("keyword", 0.0) for hit in hits), default=0.0) or 1.0
    for hit in hits:
        signals = [_signal(name, value, best) for name, value in hit["signals"].items()]
        text = "" if hit["text"].strip() == hit["title"] else hit["text"]  # a short one is its own title
        title = cut_at_matches(hit["title"] or hit["id"], hit["highlights"])
        pieces = cut_at_matches(text, hit["highlights"])
        yield {**hit, "address": _address(home_of(hit), hit), "reasons": signals, "title": title, "pieces": pieces}


def _address(home: str, hit: Mapping[str, Any]) -> str:
    if hit["kind"] == "memory":
        return f"{home}memories/{hit['id']}"
    return f"{home}notes/{quote(hit['id'])}" if hit["kind"] == "note" else f"{home}items?{urlencode({'id': hit['id']})}"


def _signal(name: str, value: float, best: float) -> Signal:
    full = {"keyword": best, "semantic": 1.0}.get(name, LIFT_RANGE)
    return Signal(name, value, round(100 * min(1.0, max(0.0, abs(value) if name != "semantic" else value) / full)))


def cut_at_matches(text: str, words: Iterable[str]) -> list[tuple[str, bool]]:
    """The text in pieces, and of each whether it is one of the words."""
    known = sorted({word for word in words if word}, key=len, reverse=True)
    if not known or not text:
        return [(text, False)] if text else []
    pieces = re.split(f"({'|'.join(map(re.escape, known))})", text)
    return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]
