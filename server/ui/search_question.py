"""What a search page asks, as it stands in the address, so that the address can be passed on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from server.ui.forms import whole_number
from server.ui.visible_text import show
from vaults.memory_types import MEMORY_TYPES

KINDS = ("memory", "note", "document", "code", "transcript")
MODES = ("hybrid", "keyword", "semantic")

PER_PAGE = 20
COUNTED = 50
"""Hits asked for at once: the filters count among them, and pages lead through them. A search for 100 takes twice the
time of one for 20, and one is made at each pause of typing."""

TOKENS = 50_000
"""Of texts in an answer: so many hits, none of them cut short."""

_CHOICES = 20
"""Values of one filter: what the tool takes at most."""


@dataclass(frozen=True, slots=True)
class Question:
    """``start``: the place of the first hit to show among those of one answer; ``cursor``: that of the next answer."""

    q: str = ""
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    mode: str = "hybrid"
    since: str = ""
    until: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    folder: str = ""
    vaults: tuple[str, ...] = ()
    archived: bool = False
    start: int = 0
    cursor: str = ""

    @classmethod
    def of(cls, given: QueryParams) -> Question:
        """What an address asks; what is no choice of the form counts as left out."""
        mode = given.get("mode", "")
        return cls(
            q=given.get("q", "").strip(),
            kinds=tuple(kind for kind in KINDS if kind in given.getlist("kinds")),
            types=tuple(each for each in MEMORY_TYPES if each in given.getlist("types")),
            mode=mode if mode in MODES else "hybrid",
            since=given.get("since", "").strip(),
            until=given.get("until", "").strip(),
            tags=_values(given.getlist("tag")),
            author=(*_values(given.getlist("author")), "")[0],
            # A folder and one within it may both be ticked: the inner one is meant.
            folder=max(_values(given.getlist("folder")), key=len, default=""),
            vaults=_values(given.getlist("vault")),
            archived=given.get("archived") == "yes",
            start=_place(given.get("start", "")),
            cursor=given.get("cursor", ""),
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether it asks for more than words and filters with counts."""
        return bool(self.since or self.until or self.archived) or self.mode != "hybrid"

    @property
    def is_filtered(self) -> bool:
        """Whether a filter with counts is set."""
        return bool(self.kinds or self.types or self.tags or self.author or self.folder or self.vaults)

    def as_arguments(self) -> dict[str, Any]:
        """What ``search`` is asked. Only memories are of a type."""
        optional: dict[str, Any] = {
            "kinds": ["memory"] if self.types and not self.kinds else list(self.kinds),
            "types": list(self.types),
            "since": self.since,
            "until": self.until,
            "tags": list(self.tags),
            "author": self.author,
            "folder": self.folder,
            "cursor": self.cursor,
        }
        given = {name: value for name, value in optional.items() if value}
        fixed = {"limit": COUNTED, "max_tokens": TOKENS, "include_archived": self.archived}
        return {"query": self.q, "mode": self.mode, **fixed, **given}

    @property
    def of_any_type(self) -> Question | None:
        """What tells how many hits other types would leave: memories of every type; None: it asks for no type."""
        kinds = self.kinds or ("memory",)
        return replace(self, types=(), kinds=kinds, start=0, cursor="") if self.types else None

    def next_address(self, found: int, cursor: str | None) -> str | None:
        """The query of the page after, of ``found`` hits in this answer; None: there is none."""
        if self.start + PER_PAGE < found:
            where = {"cursor": self.cursor, "start": str(self.start + PER_PAGE)}
        elif cursor:
            where = {"cursor": cursor}
        else:
            return None
        return urlencode([*self._pairs(), *((name, value) for name, value in where.items() if value)])

    @property
    def without_filters(self) -> str:
        """The query that asks for the same words alone."""
        return urlencode({"q": self.q})

    def _pairs(self) -> Iterator[tuple[str, str]]:
        yield "q", self.q
        named = {
            "kinds": self.kinds, "types": self.types, "tag": self.tags, "vault": self.vaults, "author": (self.author,),
            "folder": (self.folder,), "since": (self.since,), "until": (self.until,),
            "mode": (self.mode,) if self.mode != "hybrid" else (), "archived": ("yes",) if self.archived else (),
        }  # fmt: skip
        yield from ((name, value) for name, values in named.items() for value in values if value)


def _values(given: Iterable[str]) -> tuple[str, ...]:
    """Each once. One with characters that cannot be seen is none somebody chose."""
    plain = (value.strip() for value in given if show(value) == value)
    return tuple(dict.fromkeys(value for value in plain if value))[:_CHOICES]


def _place(given: str) -> int:
    return min(whole_number(given, 4) or 0, COUNTED) // PER_PAGE * PER_PAGE
