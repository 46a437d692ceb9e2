"""Words divided at the ends of lines, put together again: with their hyphen where it is their own, else without."""

from __future__ import annotations

import re

MAX_KNOWN = 100_000
"""Words of a document that are kept to compare with."""

_MARKED_END = r"(?<!\w)(\w*)([\x02\ufffe]|\u00ad(?=[ \t]*\r?\n))[ \t]*(?:\r?\n)?"  # what the reader leaves of a hyphen
_BREAK = re.compile(rf"{_MARKED_END}(?=(\w*)(\s*\Z)?)")
_DIVIDED = re.compile(rf"{_MARKED_END}\w*")
_WORD = re.compile(r"\w+(?:-\w+)*")
_JOINING = frozenset(("and", "or"))
"""Before these a hyphen stands for what follows: "pre- and postnatal"."""

_FIRST = frozenset({
    "cross", "double", "full", "half", "high", "large", "long", "low", "non", "self", "short", "single", "small",
    "triple", "well", "wild", "two", "three", "four", "five", "six", "twenty", "thirty", "forty", "fifty", "sixty",
    "seventy", "eighty", "ninety",
})  # fmt: skip
_SECOND = frozenset({
    "based", "dependent", "derived", "driven", "free", "induced", "like", "mediated", "related", "specific", "term",
})  # fmt: skip
"""English words that make compounds with a hyphen, and with which hardly a word begins or ends that has none."""


class LineEnds:
    """Mends the pages of a document in order. A break is where the reader of PDFs found a hyphen at the end of a line.
    Whether it is the word's own shows in the words of the page and those before it; where nothing shows it, it is
    not."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def mend(self, page: str) -> str:
        """The page without breaks."""
        if len(self._known) < MAX_KNOWN:
            self._known.update(_find_words(_DIVIDED.sub(" ", page)))
        return _BREAK.sub(self._mend_word, page)

    def _mend_word(self, found: re.Match[str]) -> str:
        left, mark, right, ends_page = found.groups()
        if mark == "\u00ad":  # never anybody's own
            return left
        if not left or not right:
            return f"{left}-"
        if right.isdigit() and ends_page is not None:  # the number of the page
            return f"{left}-\n"
        return left + self._find_joint(left, right)

    def _find_joint(self, left: str, right: str) -> str:
        """What stands between the halves of a word."""
        first, second = left.casefold(), right.casefold()
        if f"{first}{second}" in self._known:
            return ""
        if right in _JOINING:
            return "- "
        has_own = (
            f"{first}-{second}" in self._known
            or _is_sign(right[0])  # "Ankle-Brachial", "IL-2"
            or len(left) < 3  # nobody divides a word there
            or any(map(_is_sign, left[1:]))  # "HER2-positive", "mRNA-binding"
            or second in self._known  # "world-renowned", on a page that says "renowned" elsewhere
            or (first in _FIRST and len(right) > 3)  # "three-dimensional"; "high-er" is one word
            or second in _SECOND  # "evidence-based"
        )
        return "-" if has_own else ""


def _is_sign(letter: str) -> bool:
    """Whether a letter is none of those that words go on with."""
    return letter.isupper() or letter.isdigit()


def _find_words(text: str) -> set[str]:
    """The words of a text, those with a hyphen also by their halves."""
    whole = {found[0] for found in _WORD.finditer(text.casefold())}
    return whole | {half for each in whole if "-" in each for half in each.split("-")}
