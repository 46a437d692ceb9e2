"""Hints that name tools, for readers who are not all shown the same tools. Pure.

The author of a hint or an instruction lists the tools it names; whoever delivers it knows which tools its reader sees.
So no reader is told to use a tool it does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

ELSEWHERE_HINT = "discover_tools names the way"
"""Replaces a clause about tools that the reader's list does not hold, but a wider one would."""


@dataclass(frozen=True, slots=True)
class Audience:
    """What a reader can use: tools by name (``links``), arguments as ``fetch.max_lines``, actions as ``history undo``,
    and ``handoff_load writing`` where not only reading calls of a tool are allowed."""

    shown: frozenset[str]
    """In the reader's own list of tools."""
    further: frozenset[str]
    """In the widest list the reader may have."""


@dataclass(frozen=True, slots=True)
class ToolClause:
    """A clause and what it names, spelled as in ``Audience``. ``instead`` is for readers who do not see all of that."""

    words: str
    names: tuple[str, ...] = ()
    instead: ToolClause | None = None

    def among(self, names: frozenset[str]) -> str | None:
        """The words for a reader who sees ``names``; None where there are none."""
        if names.issuperset(self.names):
            return self.words
        return self.instead.among(names) if self.instead is not None else None


def tool_clause(words: str, *names: str, instead: ToolClause | None = None) -> ToolClause:
    """A clause that names tools."""
    return ToolClause(words, names, instead)


def join_clauses(ways: Iterable[ToolClause], audience: Audience) -> str:
    """The clauses that suit a reader, joined; the rest is left out."""
    return "".join(words for each in ways if (words := each.among(audience.shown)) is not None)


class Advice(str):
    """What to do next: the whole text for a reader who sees every tool, clause by clause for others."""

    ways: tuple[ToolClause, ...]

    def __new__(cls, *clauses: ToolClause | str) -> Self:
        ways = tuple(each if isinstance(each, ToolClause) else ToolClause(each) for each in clauses)
        advice = super().__new__(cls, "; ".join(each.words for each in ways))
        advice.ways = ways
        return advice

    def to(self, audience: Audience) -> str:
        """The advice for a reader. A clause about tools its list does not hold becomes ``ELSEWHERE_HINT``, or is left
        out where no list the reader may have holds them."""
        return "; ".join(dict.fromkeys(self._clauses(audience)))

    def _clauses(self, audience: Audience) -> Iterable[str]:
        for each in self.ways:
            words = each.among(audience.shown)
            if words is not None:
                yield words
            elif each.among(audience.further) is not None:
                yield ELSEWHERE_HINT


def render_for(text: str, audience: Audience) -> str:
    """``text`` as a reader should see it; only ``Advice`` differs by reader."""
    return text.to(audience) if isinstance(text, Advice) else text
