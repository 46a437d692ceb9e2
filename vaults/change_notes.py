"""What a call changed, as its audit records it: what each thing held before and after, as hashes or states."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContentHash:
    """A hash of what people wrote: a text, or a name. The audit keys it, so that nobody can try out what it was."""

    digest: str


def owned_hash(identity: str, digest: str) -> ContentHash:
    """The hash of what is private to somebody: no other item's equals it, so that nobody can compare a guess."""
    return ContentHash(f"{identity}|{digest}")


def told_hash(identity: str, visibility: str, digest: str) -> ContentHash:
    """The hash of what is shared, or private to somebody."""
    return owned_hash(identity, digest) if visibility == "private" else ContentHash(digest)


@dataclass(frozen=True, slots=True)
class ChangeNote:
    """One thing that was changed: what stands for what it held ``before`` and ``after``, a hash of its content, or a
    state or version; None: there was none, or is none. An ``id`` that is somebody's words is a hash, too."""

    kind: str
    id: str | ContentHash
    before: str | ContentHash | None
    after: str | ContentHash | None


MAX_CHANGE_NOTES = 50
"""Changes of one call that are kept one by one; of the rest, their number and a hash of all."""


class ChangeNotes:
    """What one call changed, as its audit records it."""

    __slots__ = ("_digest", "_writes", "count", "first")

    def __init__(self) -> None:
        self.first: list[ChangeNote] = []
        self.count = 0
        self._digest = hashlib.sha256()
        self._writes: list[asyncio.Future[Any]] = []

    def expect(self, write: asyncio.Future[Any]) -> None:
        """A write of this call has begun; what it changes is added before it is done. It goes on when the call ends."""
        self._writes = [*self.under_way, write]

    @property
    def under_way(self) -> Sequence[asyncio.Future[Any]]:
        """Writes that have begun and are neither done nor failed."""
        return [each for each in self._writes if not each.done()]

    async def settle(self) -> None:
        """Return once every write that has begun is done, or has failed."""
        if waiting := self.under_way:
            await asyncio.wait(waiting)

    def add(self, changes: Iterable[ChangeNote]) -> None:
        """Keep what was changed, in order."""
        for each in changes:
            self.count += 1
            said = (each.kind, *(_to_text(part) for part in (each.id, each.before, each.after)))
            self._digest.update(f"{chr(0).join(said)}\n".encode("utf-8", "surrogatepass"))
            if len(self.first) < MAX_CHANGE_NOTES:
                self.first.append(each)

    @property
    def digest(self) -> str:
        """A hash of all of them, in order."""
        return self._digest.hexdigest()


def _to_text(part: str | ContentHash | None) -> str:
    return part.digest if isinstance(part, ContentHash) else str(part)
