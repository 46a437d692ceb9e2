"""Token counts of recurring texts, cached by digest."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from vaults.search import tokenizer

MAX_KEPT = 20_000
"""Max counts cached: 3 MB."""


class TokenCounts:
    """Caches token counts as exact as ``tokenizer.count_tokens``. Safe to use from any thread."""

    def __init__(self, kept: int = MAX_KEPT) -> None:
        self._kept = kept
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, text: str) -> int:
        """Tokens of ``text``."""
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(digest)
            if known is not None:
                self._known.move_to_end(digest)
                return known
        counted = tokenizer.count_tokens(text)
        with self._lock:
            self._known[digest] = counted
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return counted

    def __len__(self) -> int:
        return len(self._known)


TOKEN_COUNTS = TokenCounts()
"""The cache of this process."""
