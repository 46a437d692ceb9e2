"""A digest of a whole database that follows it from commit to commit: of each page one, all of them combined.

Changing a page takes its old digest out and the new one in, so the work is that of the pages that changed. The number
of a page is part of its digest: two pages that change places do not go unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

SIZE = 16
_WORDS = np.dtype(np.uint64)


def digest_page(number: int, data: bytes) -> bytes:
    """The digest of one page."""
    return blake2b(data, digest_size=SIZE, person=number.to_bytes(SIZE, "big")).digest()


class PageDigests:
    """Of pages 1 to ``size``. 16 bytes a page."""

    def __init__(self, page_size: int) -> None:
        self._zeros = bytes(page_size)
        self._digests = bytearray()
        self._total = 0

    @property
    def size(self) -> int:
        return len(self._digests) // SIZE

    @property
    def total(self) -> bytes:
        """The digest of all pages."""
        return self._total.to_bytes(SIZE, "big")

    def of(self, number: int) -> bytes:
        """The digest of one page; empty for one that is not there."""
        return bytes(self._digests[(number - 1) * SIZE : number * SIZE])

    def resize(self, size: int) -> None:
        """Cut pages off, or add pages of zeros: what a page is that was never written."""
        for number in range(size + 1, self.size + 1):
            self._total ^= int.from_bytes(self.of(number), "big")
        del self._digests[size * SIZE :]
        for number in range(self.size + 1, size + 1):
            self._append(digest_page(number, self._zeros))

    def set(self, number: int, digest: bytes) -> None:
        """Take in a page that changed; or the next one, if the size is one less."""
        if number == self.size + 1:
            self._append(digest)
            return
        self._total ^= int.from_bytes(self.of(number), "big") ^ int.from_bytes(digest, "big")
        self._digests[(number - 1) * SIZE : number * SIZE] = digest

    def replace(self, changed: Sequence[tuple[int, bytes]]) -> None:
        """``set`` for many pages that are there."""
        known = self._digests
        both = [bytes(known[(number - 1) * SIZE : number * SIZE]) for number, _ in changed]
        both += [digest for _, digest in changed]
        self._total ^= int.from_bytes(
            np.bitwise_xor.reduce(np.frombuffer(b"".join(both), _WORDS).reshape(-1, 2)), "big"
        )
        for number, digest in changed:
            known[(number - 1) * SIZE : number * SIZE] = digest

    def copy(self) -> PageDigests:
        """The same now, and not changed later."""
        other = PageDigests(len(self._zeros))
        other._digests, other._total = bytearray(self._digests), self._total
        return other

    def _append(self, digest: bytes) -> None:
        self._digests += digest
        self._total ^= int.from_bytes(digest, "big")
