"""Words that name a tool, for readers who are not all shown the same tools. Pure.

Whoever words a hint or an instruction says beside it which tools it names; whoever hands it out knows what its reader
is shown. So nobody is told to use what they have not got.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

ELSEWHERE_HINT = "discover_tools names the way"
"""What is said in place of a tool that this list does not hold, and a wider one would."""


@dataclass(frozen=True, slots=True)
class Audience:
    """What a reader's list of tools holds, and (``further``) what the widest one would that the reader may have. Tools
    by name (``links``), arguments as ``fetch.max_lines``, actions as ``history undo``, and ``handoff_load writing``
    where not only reading calls of a tool are allowed."""

    shown: frozenset[str]
    further: frozenset[str]


@dataclass(frozen=True, slots=True)
class ToolClause:
    """A clause, and what it names as ``Audience`` spells it. ``instead``: for readers who are not shown all of that."""

    words: str
    names: tuple[str, ...] = ()
    instead: ToolClause | None = None

    def among(self, names: frozenset[str]) -> str | None:
        """The words for a reader to whom these are shown; None where there are none."""
        if names.issuperset(self.names):
            return self.words
        return self.instead.among(names) if self.instead is not None else None


def tool_clause(words: str, *names: str, instead: ToolClause | None = None) -> ToolClause:
    """A clause that names tools."""
    return ToolClause(words, names, instead)


def join_clauses(ways: Iterable[ToolClause], audience: Audience) -> str:
    """What of a text is for a reader; the rest is left out."""
    return "".join(words for each in ways if (words := each.among(audience.shown)) is not None)


class Advice(str):
    """What to do next: as a text for whoever is shown everything, and clause by clause for others."""

    ways: tuple[ToolClause, ...]

    def __new__(cls, *clauses: ToolClause | str) -> Self:
        ways = tuple(each if isinstance(each, ToolClause) else ToolClause(each) for each in clauses)
        advice = super().__new__(cls, "; ".join(each.words for each in ways))
        advice.ways = ways
        return advice

    def to(self, audience: Audience) -> str:
        """The advice for a reader. A clause about tools its list does not hold gives way to where they are told of, or,
        where no list the reader may have holds them, is left out."""
        return "; ".join(dict.fromkeys(self._clauses(audience)))

    def _clauses(self, audience: Audience) -> Iterable[str]:
        for each in self.ways:
            words = each.among(audience.shown)
            if words is not None:
                yield words
            elif each.among(audience.further) is not None:
                yield ELSEWHERE_HINT


def render_for(text: str, audience: Audience) -> str:
    """``text`` for a reader."""
    return text.to(audience) if isinstance(text, Advice) else text
