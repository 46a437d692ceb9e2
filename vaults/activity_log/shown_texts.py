"""Digests of the texts callers were shown lately, so that text which only comes back is recognised.

Kept in memory, for one process and one vault, bounded in number and in time. Each caller has its own: what another one
was shown stays unknown to it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable

MAX_KEPT = 4_096
"""Max digests kept: some 1 MB."""

MIN_LENGTH, MAX_LENGTH = 24, 8_000
"""Characters of a text that is recognised: shorter ones may well be repeated, longer ones cost too much."""

MAX_PARAGRAPHS = 32
"""Paragraphs of a note, from its beginning, that are recognised one by one."""

_MARKS = b" \t\r\n\f\v#>*_`\"'"
_OTHER_MARKS = dict.fromkeys(map(ord, "“”„‘’…\u00a0\u200b\ufeff"))


class ShownTexts:
    """Digests of texts, each with its source. Safe from any thread."""

    def __init__(self) -> None:
        self._held: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._turn = threading.Lock()

    def note(self, viewer: str, texts: Iterable[tuple[str, str]]) -> None:
        """Keep ``(text, source)`` as shown to ``viewer`` now; a source is a memory's id or a note's path."""
        fresh = [(key, source) for text, source in texts if (key := _digest(viewer, text)) is not None]
        now = time.monotonic()
        with self._turn:
            for key, source in fresh:
                self._held[key] = (now, source)
                self._held.move_to_end(key)
            while len(self._held) > MAX_KEPT:
                self._held.popitem(last=False)

    def note_paragraphs(self, viewer: str, text: str, source: str) -> None:
        """As ``note``, for a note's text: all of it, and each of its first paragraphs."""
        paragraphs = text.split("\n\n", MAX_PARAGRAPHS)[:MAX_PARAGRAPHS]
        self.note(viewer, ((part, source) for part in dict.fromkeys((text, *paragraphs))))

    def find_shown_source(self, viewer: str, text: str, within_s: float) -> str | None:
        """Where ``viewer`` was shown this text in the last ``within_s`` seconds; None if it was not."""
        key = _digest(viewer, text)
        if key is None:
            return None
        with self._turn:
            at, source = self._held.get(key, (0.0, None))
        return source if source is not None and time.monotonic() - at <= within_s else None

    def clear(self) -> None:
        """Forget everything."""
        with self._turn:
            self._held.clear()


def _digest(viewer: str, text: str) -> bytes | None:
    """Equal for texts that differ only in case, spaces, quotes and Markdown's marks."""
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
        return None
    plain = text if text.isascii() else text.translate(_OTHER_MARKS)
    folded = plain.casefold().encode("utf-8", "surrogatepass").translate(None, _MARKS)
    return hashlib.blake2b(viewer.encode("utf-8", "surrogatepass") + b"\n" + folded, digest_size=16).digest()
