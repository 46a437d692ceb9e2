"""Text in scripts without spaces between words: cut into pairs of characters, which have an index table of their own.

The word index sees such a sentence as one word, and most words in it have two characters, which no trigram finds.
Korean puts spaces between words and stays with the word index. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
"""The tokenizer of the table over ``to_pairs``: vowel signs and tone marks are part of a pair."""

MAX_GRAMS = 64
"""Max pairs of a query that are searched for."""

_LONGEST_PHRASE = 12
"""Max pairs in a row also searched for as one piece; a longer run is a sentence, found by its parts."""

_UNSPACED = (
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"  # Han: repetition marks, zero, numerals
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # Hiragana, Katakana
    "\u3105-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0ebd\u0ec0-\u0ece\u0ed0-\u0edf"  # Lao
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"  # Khmer
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
)
RUN = re.compile(f"[{_UNSPACED}]+")
"""A piece of text in such scripts."""

_MAY_HOLD_RUN = re.compile("[\u0e01-\u1fff\u2e80-\U0010ffff]")
"""What a character of a run may be before it is normalised: titles have a › or –, and are looked at a passage."""

# Some writers put these between words or after a character, others do not: removed, so that both match.
_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+")


def find_runs(text: str) -> tuple[str, ...]:
    """The pieces of ``text`` in such scripts, in order, NFKC-normalised (half-width Katakana becomes full-width)."""
    if text.isascii() or _MAY_HOLD_RUN.search(text) is None:
        return ()
    return tuple(RUN.findall(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))))


def to_pairs(text: str) -> str:
    """The index entry of ``text``: for every run its overlapping pairs, then its last character, which begins no pair
    and would not be found alone. Joined by spaces; "" when there is no run."""
    return " ".join(gram for run in find_runs(text) for gram in (*_overlapping_pairs(run), run[-1]))


def match_expression(runs: Sequence[str]) -> str | None:
    """An FTS5 expression over that table: any pair of any run ranks, a run found in one piece ranks above its parts,
    and a single character is found wherever it stands. None when there are no runs."""
    parts: dict[str, None] = {}
    budget = MAX_GRAMS
    for run in dict.fromkeys(runs):
        if budget <= 0:
            break
        if len(run) == 1:
            parts[f'"{run}"*'] = None
            budget -= 1
            continue
        pairs = _overlapping_pairs(run[: budget + 1])
        budget -= len(pairs)
        if 1 < len(pairs) <= _LONGEST_PHRASE:
            parts[f'"{" ".join(pairs)}"'] = None
        parts.update(dict.fromkeys(f'"{pair}"' for pair in pairs))
    return " OR ".join(parts) or None


def _overlapping_pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]
