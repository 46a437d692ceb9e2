"""What a backup is cut into: pieces with a name of their own, so that what a store has is not sent again.

A large file is cut at fixed places: a page of a database that did not change stays in a piece that did not. Small
files share a piece; which of them do depends on their paths alone, so that one more or one less changes its own piece
and no other.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ops.backup.manifest import ManifestMember

CHUNK_BYTES = 256 * 1024
"""Of a piece at most. A changed page costs one of them; a GB has some 4,000."""

SMALL_BYTES = 64 * 1024
"""Files below this share pieces."""

ONE_IN = 64
"""One path in so many is the last of its piece."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """``members``: numbers of the members it holds, in the order in which their bytes follow one another. A piece of
    a large file holds one."""

    data: bytes
    members: tuple[int, ...]


def cut(members: Sequence[ManifestMember], opened: Callable[[str], BinaryIO]) -> Iterator[Chunk]:
    """The pieces of ``members``, each file read once. Empty files are in none."""
    for number, member in enumerate(members):
        if member.size >= SMALL_BYTES:
            with opened(member.path) as file:
                while data := file.read(CHUNK_BYTES):
                    yield Chunk(data, (number,))
    small = [number for number, member in enumerate(members) if 0 < member.size < SMALL_BYTES]
    for group in group_small(members, sorted(small, key=lambda number: members[number].path)):
        yield Chunk(b"".join(_read_all(opened, members[number].path) for number in group), tuple(group))


def group_small(members: Sequence[ManifestMember], numbers: Sequence[int]) -> Iterator[list[int]]:
    """The small files of each piece; ``numbers`` in order of their paths."""
    group: list[int] = []
    size = 0
    for number in numbers:
        member = members[number]
        if size + member.size > CHUNK_BYTES:
            yield group
            group, size = [], 0
        group.append(number)
        size += member.size
        if zlib.crc32(member.path.encode()) % ONE_IN == 0:
            yield group
            group, size = [], 0
    if group:
        yield group


def name_of(digest: bytes, secret: bytes | None) -> str:
    """The name of a piece with this SHA-256: the same, or with a secret what nobody without it can tell from the
    content."""
    if secret is None:
        return digest.hex()
    return hashlib.blake2b(digest, key=secret, digest_size=32).hexdigest()


def _read_all(opened: Callable[[str], BinaryIO], path: str) -> bytes:
    with opened(path) as file:
        return file.read()
