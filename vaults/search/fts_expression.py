"""What a query requires, as an FTS5 expression built from quoted words. Pure.

What FTS5 cannot express is never narrowed to something it can: it stops being required, with a warning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from vaults.index import unspaced_scripts
from vaults.index.stemming import stem_as_indexed
from vaults.search.stopwords import STOPWORDS

MAX_OPERANDS = 48
"""Operands, and words of one phrase, that can be required."""

Operator: TypeAlias = Literal["AND", "OR", "NOT", "(", ")"]

# Combining accents and the vowel signs of Indic scripts belong to the word they stand in, which \w does not know.
_WORD = re.compile(r"\w[\w\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0971-\u0dff]*")
_ENDINGS = (
    "e",
    "on",
    "ion",
    "ing",
    "ng",
    "g",
    "d",
    "ent",
    "nt",
    "t",
    "ul",
    "r",
    "n",
    "ity",
    "ty",
    "al",
    "l",
    "ve",
    "ce",
    "ly",
    "y",
    "s",
)

_UNSPACED = "text in a script without spaces ranks, but cannot be required: that operator was not applied"
_TOO_MANY = f"only the first {MAX_OPERANDS} operands and words of a phrase can be required"
_ONLY_NOT = "NOT was not applied: there is nothing beside it that can be required"


@dataclass(frozen=True, slots=True)
class Operand:
    """Lower-case words next to each other, in ``column`` or anywhere; ``starred``: the last one is a prefix."""

    words: tuple[str, ...]
    column: str | None = None
    starred: bool = False
    required: bool = False


QueryToken: TypeAlias = Operand | Operator


@dataclass(frozen=True, slots=True)
class ParsedOperators:
    """A query's operands and what its operators require."""

    operands: tuple[Operand, ...]  # what is looked for, in order; nothing that NOT excludes
    must: str | None  # as an FTS5 expression
    warnings: tuple[str, ...]
    phrases: tuple[str, ...] = ()  # what was quoted and is not excluded


@dataclass(frozen=True, slots=True)
class _ExpressionPart:
    """A part of the query, as far as FTS5 can express it."""

    fts: str | None  # None: FTS5 cannot
    required: bool
    exact: bool = True  # False: lets more through than was asked for
    minus: tuple[str, ...] = ()  # what must be absent

    @property
    def whole(self) -> str | None:
        if self.fts is None or not self.minus:
            return self.fts
        return f"{_parenthesize(self.fts)} NOT {_parenthesize(_join_parts(' OR ', self.minus))}"


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text, lower-cased, in order."""
    return tuple(word.lower() for word in _WORD.findall(text) if word.strip("_"))


def is_word(character: str) -> bool:
    """Whether this character can stand in a word."""
    return character == "_" or character.isalnum()


def quote_words(word: str) -> str:
    """A word, or adjacent words with spaces between, quoted so that FTS5 takes it literally."""
    return f'"{word}"'


def prefix_expression(prefix: str) -> str:
    """Words that begin with ``prefix``. The index holds stems and a stem can be shorter than the prefix (generat* →
    generate → gener), so words it may be cut from are looked for as well, one for each such stem."""
    stems = {stem_as_indexed(prefix): f'"{prefix}"*'}
    for ending in _ENDINGS if prefix.isascii() and prefix.isalpha() else ():
        stems.setdefault(stem_as_indexed(prefix + ending), quote_words(prefix + ending))
    shorter = [form for cut, form in stems.items() if not cut.startswith(stem_as_indexed(prefix))]
    return " OR ".join((f'"{prefix}"*', *shorter))


def evaluate(tokens: Sequence[QueryToken]) -> ParsedOperators:
    """Evaluate tokens in which every operator has its operands and parentheses are balanced."""
    reader = _OperatorParser(_release_phrases(tokens))
    part = reader.level()
    must = part.whole if part.required else None
    operands = tuple(reader.operands)
    if must is None and not part.required and operands and all(operand.starred for operand in operands):
        # Somebody who types nothing but auth* wants words that begin so, not words that mean it.
        must = part.fts
    if part.minus and part.fts is None:
        reader.warnings[_ONLY_NOT] = None
    if reader.relaxed:
        reader.warnings |= reader.reasons
    quotes = {token.words for token in tokens if isinstance(token, Operand) and token.required and not token.column}
    phrases = (
        " ".join(each.words) for each in operands if each.words in quotes and 1 < len(each.words) <= MAX_OPERANDS
    )
    return ParsedOperators(operands, must, tuple(reader.warnings), tuple(dict.fromkeys(phrases)))


def _release_phrases(tokens: Sequence[QueryToken]) -> Sequence[QueryToken]:
    """Quotes in a sentence mark a title or a saying, which the answer need not repeat: among plain words, with no
    other operator, a phrase only ranks. Alone, or with operators, it is required."""
    operands = [token for token in tokens if isinstance(token, Operand)]
    plain = [operand for operand in operands if not operand.required and not operand.starred]
    telling = any(word not in STOPWORDS for operand in plain for word in operand.words)
    if len(operands) < len(tokens) or not telling or any(operand.column for operand in operands):
        return tokens
    return [replace(operand, required=operand.required and len(operand.words) < 2) for operand in operands]


class _OperatorParser:
    """Recursive descent; the depth is bounded by the parentheses let through."""

    def __init__(self, tokens: Sequence[QueryToken]) -> None:
        self._tokens, self._at, self._negated, self._leaves = tokens, 0, 0, 0
        self.operands: list[Operand] = []
        self.warnings: dict[str, None] = {}
        self.reasons: dict[str, None] = {}
        self.relaxed = False

    def level(self) -> _ExpressionPart:
        """Parts side by side, up to the end or a closing parenthesis."""
        parts: list[_ExpressionPart] = []
        while self._at < len(self._tokens) and self._tokens[self._at] != ")":
            parts.append(self._either())
        minus = tuple(term for part in parts for term in part.minus)
        if required := [part for part in parts if part.required]:
            both = self._all(required)
            return _ExpressionPart(both.fts, True, both.exact, minus)
        any_of = self._any([replace(part, minus=()) for part in parts], telling=bool(minus))
        return _ExpressionPart(any_of.fts, bool(minus), any_of.exact, minus)

    def _either(self) -> _ExpressionPart:
        parts = [self._both()]
        while self._take("OR"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else self._any(parts, telling=True)

    def _both(self) -> _ExpressionPart:
        parts = [self._without()]
        while self._take("AND"):
            parts.append(self._without())
        return parts[0] if len(parts) == 1 else self._all(parts)

    def _without(self) -> _ExpressionPart:
        part = self._operand()
        minus, exact = list(part.minus), part.exact
        while self._take("NOT"):
            self._negated += 1
            gone = self._operand()
            self._negated -= 1
            if gone.exact and gone.whole is not None:
                minus.append(gone.whole)
            else:
                self.relaxed, exact = True, False
        return _ExpressionPart(part.fts, part.required, exact, tuple(minus))

    def _operand(self) -> _ExpressionPart:
        token = self._tokens[self._at]
        self._at += 1
        if isinstance(token, Operand):
            return self._leaf(token)
        part = self.level()
        self._at += 1  # its closing parenthesis
        return part

    def _take(self, operator: Operator) -> bool:
        taken = self._at < len(self._tokens) and self._tokens[self._at] == operator
        self._at += taken
        return taken

    def _leaf(self, operand: Operand) -> _ExpressionPart:
        if not self._negated:
            self.operands.append(operand)
        self._leaves += 1
        if any(unspaced_scripts.find_runs(word) for word in operand.words):
            self.reasons[_UNSPACED] = None
            self.relaxed |= operand.required
            return _ExpressionPart(None, operand.required, exact=False)
        if self._leaves > MAX_OPERANDS:
            self.reasons[_TOO_MANY] = None
            self.relaxed |= operand.required
            return _ExpressionPart(None, operand.required, exact=False)
        return _ExpressionPart(_operand_expression(operand), operand.required, len(operand.words) <= MAX_OPERANDS)

    def _all(self, parts: Sequence[_ExpressionPart]) -> _ExpressionPart:
        known = [part.fts for part in parts if part.fts is not None]
        self.relaxed |= len(known) < len(parts)
        exact = all(part.exact for part in parts) and len(known) == len(parts)
        minus = tuple(term for part in parts for term in part.minus)
        return _ExpressionPart(_join_parts(" AND ", known) or None, True, exact, minus)

    def _any(self, parts: Sequence[_ExpressionPart], *, telling: bool) -> _ExpressionPart:
        known = [part.whole for part in parts]
        forms = [form for form in known if form is not None]
        if not forms or len(forms) < len(known):
            self.relaxed |= telling
            return _ExpressionPart(None, telling, exact=False)
        return _ExpressionPart(_join_parts(" OR ", forms), telling, all(part.exact for part in parts))


def _operand_expression(operand: Operand) -> str:
    side_by_side = quote_words(" ".join(operand.words[:MAX_OPERANDS]))
    if operand.starred:
        side_by_side = prefix_expression(operand.words[-1]) if len(operand.words) == 1 else f"{side_by_side}*"
    return f"{operand.column} : {_parenthesize(side_by_side)}" if operand.column else side_by_side


def _join_parts(operator: str, parts: Iterable[str]) -> str:
    several = list(dict.fromkeys(parts))
    return several[0] if len(several) == 1 else operator.join(_parenthesize(part) for part in several)


def _parenthesize(expression: str) -> str:
    """In parentheses, if it needs them. Words are lower-case, so these can only be operators."""
    compound = any(operator in expression for operator in (" AND ", " OR ", " NOT "))
    return f"({expression})" if compound else expression
