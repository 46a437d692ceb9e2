"""Search operators, parsed here and rewritten as FTS5 in which every word is quoted. Pure; no text is an error.

    "exact phrase"   two or more words in double quotes, side by side: required alone or beside an operator; in a
                     sentence it ranks
    auth*            words that begin so; required when it is all that was asked for, or beside an operator
    title:api        title, body (text, content) or labels (tag, entity, author, keywords) only: required.
                     Also title:"two words" and title:auth*
    a AND b          both; a OR b: one of them; a NOT b: without b. Upper case, between two operands.
    ( )              grouping, up to eight deep

AND and OR join the two operands beside them, AND before OR; NOT takes away from what it follows: in ``a OR b NOT c``
from b, among plain words (``a b NOT c``) from all of them. Plain words side by side only rank, and so does everything
else, operators out of place included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice

from vaults.search.fts_expression import Operand, Operator, ParsedOperators, QueryToken, evaluate, is_word, split_words

COLUMNS = {
    "title": "title",
    **dict.fromkeys(("body", "text", "content"), "body"),
    **dict.fromkeys(("labels", "label", "tags", "tag", "entity", "author", "keywords", "keyword"), "labels"),
}
"""What may stand before a colon, and the FTS5 column it means."""

MAX_DEPTH = 8
"""Levels of nested parentheses that are read."""

MAX_TOKENS = 600
"""Words, operators and parentheses that are read: more terms than are searched for, stop words or not."""

_LEXEME = re.compile(
    r"""(?<![^\s(])(?P<column>[^\W\d]\w*+):"(?P<value>[^"]*)"   # title:"two words"
      | (?<!\w)"(?P<quoted>[^"]*)"
      | (?P<open>\() | (?P<close>\))
      | (?P<chunk>[^\s"()]++)""",
    re.VERBOSE,
)
_FIELD = re.compile(r"(?P<name>[^\W\d_]\w++):(?P<value>[\w#@].*)", re.DOTALL)
_NAMED = re.compile(r'(?<![^\s(])(?P<name>[^\W\d_]{2,}+):(?:"[^"\s]|[^\W\d])')
_MAY_ASK = re.compile(r'["():*]|\b(?:AND|OR|NOT)\b')
"""Without any of these a text is plain words."""

_STARRED = re.compile(r"\w{2,}\*[.,;:!?]*")
_OPERATORS: dict[str, Operator] = {"AND": "AND", "OR": "OR", "NOT": "NOT"}
_SCHEMES = frozenset(("mailto", "urn", "tel", "data", "news", "doi"))
"""Before a colon, these begin an address."""

_TOO_MUCH = f"operators were not applied: they are read in up to {MAX_TOKENS} words, {MAX_DEPTH} parentheses deep"


def read_operators(text: str) -> ParsedOperators:
    """Parse the first ``MAX_TOKENS`` words and operators of ``text``, in time linear in its length. Operators count in
    all of a text or not at all: half an expression means something else."""
    if _MAY_ASK.search(text) is None:
        several = (words for chunk in text.split() if (words := split_words(chunk)))
        return ParsedOperators(tuple(Operand(words) for words in islice(several, MAX_TOKENS)), None, ())
    lexer = _lex(text)
    lexed = list(islice(lexer, MAX_TOKENS))
    pairs = _find_parentheses(text, lexed)
    if next(lexer, None) is not None or _nesting_depth(lexed, pairs) > MAX_DEPTH:
        plain = tuple(Operand(item.words) for _, item in lexed if isinstance(item, Operand))
        meant = any(item.required if isinstance(item, Operand) else item in _OPERATORS for _, item in lexed)
        return ParsedOperators(plain, None, (_TOO_MUCH,) if meant else ())
    grouped = [item for index, (_, item) in enumerate(lexed) if item not in ("(", ")") or index in pairs]
    reading = evaluate(list(_resolve_operators(grouped)))
    return replace(reading, warnings=(*_warn_unknown_columns(text), *reading.warnings))


def _lex(text: str) -> Iterator[tuple[int, QueryToken]]:
    """Each item with where it begins; punctuation between words is gone."""
    for found in _LEXEME.finditer(text):
        kind = found.lastgroup
        if kind == "open":
            yield found.start(), "("
        elif kind == "close":
            yield found.start(), ")"
        elif kind == "chunk":
            for item in _read_chunk(found["chunk"]):
                yield found.start(), item
        else:
            for operand in _read_quoted(found["column"], found["value"] if kind == "value" else found["quoted"]):
                yield found.start(), operand


def _read_chunk(chunk: str) -> Iterable[QueryToken]:
    if operator := _OPERATORS.get(chunk):
        yield operator
        return
    column, value = None, chunk
    if (field := _FIELD.fullmatch(chunk)) and (column := COLUMNS.get(field["name"].lower())):
        value = field["value"]
    if found := split_words(value):
        yield Operand(found, column, starred=_STARRED.fullmatch(value) is not None, required=column is not None)


def _read_quoted(name: str | None, text: str) -> Iterable[Operand]:
    """A phrase; a single word in quotes is just a word. After an unknown column it is plain words, too."""
    found = split_words(text)
    column = COLUMNS.get(name.lower()) if name else None
    if name and column is None:
        yield Operand((name.lower(),))
        yield from (Operand((word,)) for word in found)
    elif found:
        yield Operand(found, column, required=column is not None or len(found) > 1)


def _find_parentheses(text: str, lexed: list[tuple[int, QueryToken]]) -> set[int]:
    """Indexes of the parentheses that group: not unbalanced or empty ones, nor those of a call like f(x)."""
    kept, opened, seen = set[int](), list[tuple[int, int]](), 0
    for index, (_, item) in enumerate(lexed):
        if item == "(":
            opened.append((index, seen))
        elif item != ")":
            seen += 1
        elif opened:
            first, before = opened.pop()
            at = lexed[first][0]
            if seen > before and not (at and is_word(text[at - 1])):
                kept |= {first, index}
    return kept


def _nesting_depth(lexed: list[tuple[int, QueryToken]], pairs: set[int]) -> int:
    steps = (1 if item == "(" else -1 for index, (_, item) in enumerate(lexed) if index in pairs)
    return max(accumulate(steps), default=0)


def _resolve_operators(items: list[QueryToken]) -> Iterator[QueryToken]:
    """AND, OR and NOT between operands stay; anywhere else they are words. AND NOT is NOT."""
    for index, item in enumerate(items):
        if item not in ("AND", "OR", "NOT"):
            yield item
            continue
        before = items[index - 1] if index else None
        if item == "NOT" and before == "AND" and index > 1:
            before = items[index - 2]
        after = items[index + 1] if index + 1 < len(items) else None
        if (
            item == "AND"
            and after == "NOT"
            and _may_begin_operand(items[index + 2 : index + 3])
            and _may_end_operand(before)
        ):
            continue
        yield item if _may_end_operand(before) and _may_begin_operand([after]) else Operand((str(item).lower(),))


def _may_end_operand(item: QueryToken | None) -> bool:
    return item == ")" or isinstance(item, Operand)


def _may_begin_operand(items: Sequence[QueryToken | None]) -> bool:
    return bool(items) and (items[0] == "(" or isinstance(items[0], Operand))


def _warn_unknown_columns(text: str) -> tuple[str, ...]:
    """A warning about fields that do not exist; none for addresses, times, paths and code, which have colons, too."""
    names = dict.fromkeys(
        found["name"].lower()
        for found in _NAMED.finditer(text)
        if found["name"].lower() not in COLUMNS and found["name"].lower() not in _SCHEMES
    )
    if not names:
        return ()
    some = ", ".join(f"{name[:40]}:" for name in list(names)[:3])
    return (f"no field to search in, so read as text: {some} (fields are {', '.join(COLUMNS)})",)
