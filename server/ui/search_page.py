"""Search over everything in a vault: a form whose address can be passed on, and why each hit is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from server.ui.page import VaultPage
from server.ui.vault_view import VaultView, complaint_of

KINDS = ("memory", "note", "document", "code", "transcript")
MODES = ("hybrid", "keyword", "semantic")
PER_PAGE = 20
TOKENS = 20_000
"""Of texts on a page: 20 hits, none of them cut short."""

LIFT_RANGE = 0.5
"""What fills the bar of a lift: most add less than this to a score."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A part of a score. ``width``: of its bar, in hundredths."""

    name: str
    value: float
    width: int


@dataclass(frozen=True, slots=True)
class Question:
    """What the form asks, as it stands in the address."""

    q: str = ""
    kinds: tuple[str, ...] = ()
    mode: str = "hybrid"
    since: str = ""
    until: str = ""
    tag: str = ""
    author: str = ""
    archived: bool = False
    cursor: str = ""

    @classmethod
    def of(cls, given: QueryParams) -> Question:
        """What an address asks; what is no choice of the form counts as left out."""
        mode = given.get("mode", "")
        return cls(
            q=given.get("q", "").strip(),
            kinds=tuple(kind for kind in KINDS if kind in given.getlist("kinds")),
            mode=mode if mode in MODES else "hybrid",
            since=given.get("since", "").strip(),
            until=given.get("until", "").strip(),
            tag=given.get("tag", "").strip(),
            author=given.get("author", "").strip(),
            archived=given.get("archived") == "yes",
            cursor=given.get("cursor", ""),
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether it asks for more than words."""
        return bool(self.since or self.until or self.tag or self.author or self.archived) or self.mode != "hybrid"

    def as_arguments(self) -> dict[str, Any]:
        """What ``search`` is asked."""
        optional: dict[str, Any] = {
            "kinds": list(self.kinds),
            "since": self.since,
            "until": self.until,
            "tags": [self.tag] if self.tag else [],
            "author": self.author,
            "cursor": self.cursor,
        }
        given = {name: value for name, value in optional.items() if value}
        fixed = {"limit": PER_PAGE, "max_tokens": TOKENS, "include_archived": self.archived}
        return {"query": self.q, "mode": self.mode, **fixed, **given}

    def next_page(self, cursor: str) -> str:
        """The query of the page after."""
        pairs: list[tuple[str, str]] = [("q", self.q), *(("kinds", kind) for kind in self.kinds)]
        named = {"mode": self.mode, "since": self.since, "until": self.until, "tag": self.tag, "author": self.author}
        pairs += [(name, value) for name, value in named.items() if value]
        if self.archived:
            pairs.append(("archived", "yes"))
        return urlencode([*pairs, ("cursor", cursor)])


async def show(view: VaultView) -> Response:
    """The page, with hits where something is asked."""
    question = Question.of(view.request.query_params)
    values: dict[str, Any] = {"question": question, "kinds": KINDS, "modes": MODES}
    if not question.q:
        return view.page("search", here="search", **values, found=None, hits=[], more=None, complaint=None)
    outcome = await view.ask("search", **question.as_arguments())
    complaint = complaint_of(outcome)
    if complaint is not None:
        values |= {"found": None, "hits": [], "more": None, "complaint": complaint}
        return view.page("search", here="search", status=complaint.status, **values)
    found = outcome.content
    more = question.next_page(found["cursor"]) if found.get("cursor") else None
    hits = list(_with_reasons(found["hits"]))
    return view.page("search", here="search", **values, found=found, hits=hits, more=more, complaint=None)


def _with_reasons(hits: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The hits with the parts of their scores as bars, and their titles and texts cut where words match."""
    hits = list(hits)
    best = max((hit["signals"].get("keyword", 0.0) for hit in hits), default=0.0) or 1.0
    for hit in hits:
        signals = [_signal(name, value, best) for name, value in hit["signals"].items()]
        text = "" if hit["text"].strip() == hit["title"] else hit["text"]  # a short one is its own title
        title = cut_at_matches(hit["title"] or hit["id"], hit["highlights"])
        yield {**hit, "reasons": signals, "title": title, "pieces": cut_at_matches(text, hit["highlights"])}


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


PAGE = VaultPage("search", show)
