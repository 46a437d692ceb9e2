"""What the caller typed, parsed: terms that rank, and what every hit must satisfy. FTS5 sees only quoted words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vaults.index import unspaced_scripts
from vaults.search import syntax
from vaults.search.fts_expression import Operand, prefix_expression, quote_words, split_words
from vaults.search.stopwords import STOPWORDS

MAX_TERMS = 48
"""Distinct terms searched for; further ones of a pasted page add cost, not hits."""

MAX_QUERY = 10_000
"""Characters of a query that are read."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    text: str
    """As given."""
    terms: tuple[str, ...]
    """Lower-case, without what NOT excludes and without stop words, unless there is nothing else."""
    must: str | None = None
    """What operators require, as an FTS5 expression over the word index."""
    unspaced: tuple[str, ...] = ()
    """Runs of scripts without spaces, for ``unspaced_scripts.match_expression``."""
    warnings: tuple[str, ...] = ()
    prefixes: frozenset[str] = frozenset()
    """Those of ``terms`` that only begin a word."""
    phrases: tuple[str, ...] = ()
    """Words that rank higher side by side."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Those of ``terms`` that are forms of one word and weigh as one."""
    marked: tuple[str, ...] = ()
    """Further forms of ``terms`` in another language, which the index holds as the same words."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The words to mark in a text."""
        return (*self.terms, *self.marked)

    @property
    def match(self) -> str | None:
        """An FTS5 expression of quoted terms joined by OR; None if there is nothing to look for."""
        forms = (prefix_expression(term) if term in self.prefixes else quote_words(term) for term in self.terms)
        return " OR ".join((*forms, *map(quote_words, self.phrases))) or None


def parse_query(text: str) -> Query:
    """Parse a query with operators (``vaults.search.syntax``). Any text is valid; wordless text has no terms."""
    found = syntax.read_operators(text[:MAX_QUERY])
    return replace(_build_query(text, found.operands, found.must, found.warnings), phrases=found.phrases)


def parse_literal(text: str) -> Query:
    """Parse a query in which nothing is an operator."""
    return _build_query(text, [Operand((word,)) for word in split_words(text[:MAX_QUERY])])


def correct_terms(query: Query, meant: Mapping[str, str]) -> Query:
    """Add to misspelled terms the words of the vault they were ``meant`` to be, and a warning that says so. What
    operators require stays as typed."""
    changed = {term: meant[term] for term in query.terms if term in meant}
    if not changed:
        return query
    slips = ", ".join(f'"{term[:40]}" (searched: "{found[:40]}")' for term, found in changed.items())
    both = (each for term in query.terms for each in (term, changed.get(term, term).lower()))
    return replace(
        query,
        terms=tuple(dict.fromkeys(both)),
        prefixes=query.prefixes - changed.keys(),
        warnings=(*query.warnings, f"taken for a slip: {slips}"),
    )


def _build_query(
    text: str, operands: Iterable[Operand], must: str | None = None, warnings: tuple[str, ...] = ()
) -> Query:
    several = list(operands)
    prefixes = {operand.words[-1] for operand in several if operand.starred}
    every = list(dict.fromkeys(word for operand in several for word in operand.words))
    telling = [word for word in every if word not in STOPWORDS or word in prefixes]
    terms = tuple((telling or every)[:MAX_TERMS])
    unspaced = dict.fromkeys(run for word in every for run in unspaced_scripts.find_runs(word))
    return Query(
        text=text,
        terms=terms,
        must=must,
        unspaced=tuple(unspaced),
        warnings=warnings,
        prefixes=frozenset(prefixes.intersection(terms)),
    )
