"""Which language a page is in: the one its reader chose at its foot, else the first of their browser's there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LANGUAGES = ("en", "de")
"""Those there are texts for; the first where a browser asks for none of them."""

_LONGEST = 500
"""Characters looked at of what a browser asks for."""

_reading: ContextVar[str] = ContextVar("language of the page", default=LANGUAGES[0])


def current_language() -> str:
    """The language of the page that is being made."""
    return _reading.get()


@contextmanager
def reading_in(language: str) -> Iterator[None]:
    """Have pages that are made within the block be in a language."""
    token = _reading.set(language)
    try:
        yield
    finally:
        _reading.reset(token)


def choose_language(chosen: str, accepted: str) -> str:
    """``chosen``: what a cookie holds, whoever wrote it; ``accepted``: the header ``Accept-Language``."""
    if chosen in LANGUAGES:
        return chosen
    wishes = [_wish(each) for each in accepted[:_LONGEST].split(",")]
    known = [(weight, name) for weight, name in wishes if name in LANGUAGES and weight > 0]
    return max(known, key=lambda wish: wish[0])[1] if known else LANGUAGES[0]  # of equal ones the first named


def _wish(text: str) -> tuple[float, str]:
    """``de-AT;q=0.8`` as 0.8 for ``de``."""
    name, _, weight = text.partition(";")
    given = weight.strip().removeprefix("q=")
    try:
        q = float(given) if given else 1.0
    except ValueError:
        q = 0.0
    return q, name.strip().partition("-")[0].lower()
