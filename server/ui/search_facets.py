"""Filters that say how many of the hits they would leave: counted over one answer. Types that are not asked for are
counted over the answer to the same question without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.ui.search_question import KINDS, Question
from server.ui.visible_text import show

LONGEST = 8
"""Values of one filter that are offered, those with most hits; what is chosen always stands first."""

MOST_VAULTS = 30
"""Vaults offered beside those that were chosen: whoever has more searches within one."""

Hit = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FacetValue:
    """``count``: how many hits have it; None where others are filtered out, so that nobody knows."""

    value: str
    count: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """``name``: of the field in the form, and in the address."""

    name: str
    values: Sequence[FacetValue]
    takes_others: bool = False
    """Whether one can be typed that is not offered."""


def count_facets(hits: Sequence[Hit], question: Question, of_any_type: Sequence[Hit] | None = None) -> list[Facet]:
    """The filters of a page. ``hits``: of the whole answer; ``of_any_type``: what the same question finds without its
    types, where it asks for some."""
    kinds = Counter(hit["kind"] for hit in hits)
    return [
        Facet("kinds", [_kind(kind, kinds, question) for kind in KINDS]),
        Facet("types", _offered(Counter(_types(hits if of_any_type is None else of_any_type)), question.types)),
        Facet("author", _offered(Counter(_authors(hits)), _given(question.author)), takes_others=True),
        Facet("folder", _offered(Counter(_folders(hits, question.folder)), _given(question.folder))),
        Facet("tag", _offered(Counter(_tags(hits)), question.tags), takes_others=True),
    ]


def count_vaults(hits: Sequence[Hit], names: Iterable[str], question: Question) -> Facet:
    """The filter of a search over several vaults: those that may be entered, those with most hits first."""
    counts = Counter(hit["vault"] for hit in hits)
    chosen = question.vaults
    values = [
        FacetValue(name, counts[name] if name in chosen or not chosen else None, name in chosen) for name in names
    ]
    by_hits = sorted(values, key=lambda each: (not each.is_chosen, -(each.count or 0), each.value))
    return Facet("vault", by_hits[: len(chosen) + MOST_VAULTS])


def _kind(kind: str, counts: Counter[str], question: Question) -> FacetValue:
    found = question.as_arguments().get("kinds", KINDS)
    return FacetValue(kind, counts[kind] if kind in found else None, kind in question.kinds)


def _offered(counts: Counter[str], chosen: Sequence[str]) -> list[FacetValue]:
    first = [FacetValue(value, counts[value], is_chosen=True) for value in chosen]
    others = sorted(counts.keys() - set(chosen), key=lambda value: (-counts[value], value))
    seen = [value for value in others if show(value) == value]  # nobody can choose what cannot be seen
    return first + [FacetValue(value, counts[value], is_chosen=False) for value in seen[:LONGEST]]


def _given(value: str) -> tuple[str, ...]:
    return (value,) if value else ()


def _types(hits: Iterable[Hit]) -> Iterator[str]:
    return (hit["type"] for hit in hits if hit["kind"] == "memory" and hit.get("type"))


def _authors(hits: Iterable[Hit]) -> Iterator[str]:
    return (hit["author"] for hit in hits if hit.get("author"))


def _tags(hits: Iterable[Hit]) -> Iterator[str]:
    return (tag for hit in hits for tag in dict.fromkeys(hit.get("tags", ())))


def _folders(hits: Iterable[Hit], chosen: str) -> Iterator[str]:
    """Of notes: the chosen folder, and those directly within it; with none chosen those at the top."""
    depth = chosen.count("/") + 2 if chosen else 1
    for hit in hits:
        above = hit["id"].split("/")[:-1] if hit["kind"] == "note" else []
        if chosen and above:
            yield chosen
        if len(above) >= depth:
            yield "/".join(above[:depth])
