"""Notices that a model is back after it was away, or that it is another one than before."""

from __future__ import annotations

import time

from vaults.embed.service import EmbeddingService


class ModelWatch:
    """Looks at one model now and then."""

    def __init__(self, embedder: EmbeddingService) -> None:
        self._embedder = embedder
        self._away_since: float | None = None
        self._identity = embedder.identity

    async def is_catching_up_due(self, long_s: float) -> bool:
        """Whether vaults are to compute the vectors they lack, because the model is back after ``long_s`` or was
        exchanged. Asks an endpoint that failed whether it answers again."""
        if self._embedder.state().status in ("failed", "hung") and self._away_since is None:
            self._away_since = time.monotonic()
        since = self._away_since
        is_back = since is not None and await self._embedder.is_back()
        if is_back:
            self._away_since = None
        before, self._identity = self._identity, self._embedder.identity
        was_long = is_back and since is not None and since < time.monotonic() - long_s
        return was_long or before not in (None, self._identity)
