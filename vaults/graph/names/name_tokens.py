"""How names are compared with text: cut into words and signs, folded, and distinguished from common words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from vaults.graph.names.common_words import STOP_WORDS, is_everyday
from vaults.index.unspaced_scripts import RUN

MIN_LENGTH = 3
"""Characters from which a name counts in any case, if its script puts spaces between words."""

MAX_LENGTH = 40
"""Words and signs of a name to look for: nobody repeats a longer title in a sentence."""

_UNSPACED = RUN.pattern.removesuffix("+")
# Signs that belong to the letter before them, and letters that Python does not count as such.
_MARKS = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963"
)
_MARKS += "\u0980-\u0dff\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]"
_PIECES = re.compile(rf"{_UNSPACED}{_MARKS}*+|(?:(?!{_UNSPACED})[^\W_]{_MARKS}*+)++|.", re.S)
_PLAIN_PIECES = re.compile(r"[A-Za-z0-9]++|.", re.S)
_UNCUT = re.compile(_UNSPACED)
_NUMBER = re.compile(r"[\d\W_]*(?:[WwQq]\d{1,2})?\Z")  # dates, weeks and quarters too
_BLANK = re.compile(r"[^\S\r\n]")


def split_pieces(text: str) -> list[str]:
    """Split all of a text into its words and every other sign. A character of a script without spaces is a word."""
    return _PLAIN_PIECES.findall(text) if text.isascii() else _PIECES.findall(text)


def fold_pieces(text: str) -> tuple[list[str], list[str]]:
    """The pieces of a text, and each as it is compared. Split before folding: both lists run in parallel, and their
    positions are those of the text, however folding changes lengths."""
    if text.isascii():
        cut = _PLAIN_PIECES.findall(text)
        low = cut if text.islower() else _PLAIN_PIECES.findall(text.lower())
        return cut, [" " if each == "\t" else each for each in low] if "\t" in text else low
    cut = _PIECES.findall(text)
    return cut, [_fold(each) for each in cut]


def fold_to_pieces(name: str) -> tuple[str, list[str]]:
    """A name in the form in which it is compared, and its pieces."""
    if name.isascii():
        key = name.lower().replace("\t", " ")
        return key, _PLAIN_PIECES.findall(key)
    low = [_fold(each) for each in _PIECES.findall(name)]
    return "".join(low), low


def _fold(piece: str) -> str:
    if piece.isascii():
        return " " if piece == "\t" else piece.lower()
    if _BLANK.match(piece):
        return " "
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", piece).casefold())


def is_recognizable(key: str, low: Sequence[str]) -> bool:
    """Whether a name can be recognised in a text at all: no number, no date, no lone sign, not too long, on one line.
    ``key``: the name folded, ``low``: its pieces."""
    if len(low) > MAX_LENGTH or "\n" in key or "\r" in key:
        return False
    return (key[0].isalpha() and key[0] not in "wq") or not _NUMBER.match(key)


def is_common(key: str, low: Sequence[str]) -> bool:
    """Whether a name is also a common word, or too short to be recognised otherwise: it counts only as spelled."""
    if len(low) == 1:
        return len(key) < MIN_LENGTH - (_UNCUT.match(key) is not None) or is_everyday(key)
    if len(key) < MIN_LENGTH and not _UNCUT.match(key):
        return True
    return all(each == " " or each in STOP_WORDS for each in low)


def is_written_as_name(words: str, before: str) -> bool:
    """Whether a common word, spelled as a note's name, is meant as the name. ``before``: the characters in front of it,
    a line ending if there are none. A capital inside the word says so; one at its start does unless a sentence begins
    there or it is a word of grammar."""
    if any(each.isupper() for each in words[1:]):
        return True
    return words[0].isupper() and words.casefold() not in STOP_WORDS and not begins_sentence(before)


_BEGINNING = re.compile(r"(?:[\n\r.!?:;|>•–—]|(?<=[\n\r \t])(?:[-*+]|[0-9][.)])[ \t])[ \t\"'“”‘’(*_~=]*+\Z")


def begins_sentence(before: str) -> bool:
    """Whether the text after ``before`` begins a sentence, a line or a table cell."""
    return _BEGINNING.search(before) is not None
