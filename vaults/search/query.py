"""What the caller typed, read: terms that rank, and what every hit has to satisfy. FTS5 sees only quoted words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vaults.index import unspaced_scripts
from vaults.search import syntax
from vaults.search.fts_expression import Operand, beginning, quoted, words
from vaults.search.stopwords import STOPWORDS

MAX_TERMS = 48
"""Distinct terms searched for; what a pasted page has beyond that adds cost, not hits."""

MAX_QUERY = 10_000
"""Characters of a query that are looked at."""


@dataclass(frozen=True, slots=True)
class Query:
    """``text`` as given, ``terms`` lower-cased without stop words (all of them if there is nothing else) and without
    what NOT takes away. ``must``: an FTS5 expression over the word index, where operators were used. ``unspaced``:
    what the words are not split in, for ``unspaced_scripts.match``. ``prefixes``: those of ``terms`` that only begin a
    word. ``phrases``: words that rank higher side by side."""

    text: str
    terms: tuple[str, ...]
    must: str | None = None
    unspaced: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    prefixes: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()

    @property
    def match(self) -> str | None:
        """An FTS5 expression of quoted terms joined by OR, or None when there is nothing to look for."""
        forms = (beginning(term) if term in self.prefixes else quoted(term) for term in self.terms)
        return " OR ".join((*forms, *map(quoted, self.phrases))) or None


def parse(text: str) -> Query:
    """Read a query with operators (``vaults.search.syntax``). Any text is valid; wordless text has no terms."""
    found = syntax.read(text[:MAX_QUERY])
    return replace(_query(text, found.operands, found.must, found.warnings), phrases=found.phrases)


def literal(text: str) -> Query:
    """Read a query in which nothing is an operator."""
    return _query(text, [Operand((word,)) for word in words(text[:MAX_QUERY])])


def corrected(query: Query, meant: Mapping[str, str]) -> Query:
    """The query with words of the vault, as they are written there, beside misspelled terms, and a warning that says
    so. What operators require stays as it was typed."""
    changed = {term: meant[term] for term in query.terms if term in meant}
    if not changed:
        return query
    said = ", ".join(f'"{term[:40]}" (searched: "{found[:40]}")' for term, found in changed.items())
    both = (each for term in query.terms for each in (term, changed.get(term, term).lower()))
    return replace(
        query,
        terms=tuple(dict.fromkeys(both)),
        prefixes=query.prefixes - changed.keys(),
        warnings=(*query.warnings, f"taken for a slip: {said}"),
    )


def _query(text: str, operands: Iterable[Operand], must: str | None = None, warnings: tuple[str, ...] = ()) -> Query:
    several = list(operands)
    prefixes = {operand.words[-1] for operand in several if operand.starred}
    every = list(dict.fromkeys(word for operand in several for word in operand.words))
    telling = [word for word in every if word not in STOPWORDS or word in prefixes]
    terms = tuple((telling or every)[:MAX_TERMS])
    unspaced = dict.fromkeys(run for word in every for run in unspaced_scripts.runs(word))
    return Query(text, terms, must, tuple(unspaced), warnings, frozenset(prefixes.intersection(terms)))
