"""The base image of a vault: its whole database at one entry of its log, in parts of about a megabyte.

The first part says what the others are and which entry comes next; each of these carries a checksum that chains it to
the first and to its place. The parts are made one at a time, from a snapshot of their own, while the vault goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vaults.cluster.failures import LogDamaged
from vaults.cluster.page_frames import CHECKSUM_BYTES, MAX_PAGES, LogHead, checksum_of
from vaults.cluster.vault_log import Placement
from vaults.db.engine import sqlite
from vaults.db.page_digests import SIZE as DIGEST_BYTES
from vaults.db.page_digests import PageDigests, digest_page
from vaults.db.wal_frames import is_page_size
from vaults.db.wal_tail import FrozenPages, WalGap

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = 1
MAGIC = b"strongroom base\n"
LEVEL = 3
PART_BYTES = 1024 * 1024
MAX_HEAD_BYTES = 4096

Count = Annotated[int, Field(ge=0, lt=2**63)]


class BaseHead(BaseModel):
    """What a base is: the database after entry ``seq``, whose checksum is ``checksum``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    vault: str
    seq: Count
    epoch: Count
    checksum: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * CHECKSUM_BYTES}}}$")]
    digest: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * DIGEST_BYTES}}}$")]
    size: Annotated[int, Field(ge=0, le=MAX_PAGES)]
    page_size: int

    def to_log_head(self) -> LogHead:
        """Where the log stands that goes on from here."""
        checksum, digest = bytes.fromhex(self.checksum), bytes.fromhex(self.digest)
        return LogHead(self.seq, self.epoch, checksum, digest, self.size, self.page_size)


class WholeDatabase(Protocol):
    """A whole database that stays as it is while it is read."""

    @property
    def vault(self) -> str:
        """The id of the vault it is of."""

    @property
    def head(self) -> LogHead:
        """Where its log stands with it."""

    def read(self) -> Iterator[bytes]:
        """The pages in order, as many at a time as fit ``PART_BYTES``."""


@dataclass(frozen=True, slots=True)
class FrozenBase:
    """The whole database at one entry, held by a connection until ``close``. Any thread, one at a time. ``appended``:
    bytes of entries that stand in it."""

    placement: Placement
    head: LogHead
    pages: FrozenPages
    digests: PageDigests
    appended: int
    raw: sqlite.Connection

    @property
    def vault(self) -> str:
        """``WholeDatabase``'s."""
        return self.placement.vault

    def close(self) -> None:
        """Let SQLite's log go."""
        self.raw.close()

    def read(self) -> Iterator[bytes]:
        """The pages in order, ``PART_BYTES`` at a time. Raises ``WalGap`` if one is not what was logged."""
        at_once = PART_BYTES // self.head.page_size
        for first in range(1, self.head.size + 1, at_once):
            last = min(first + at_once - 1, self.head.size)
            yield b"".join(self._page(number) for number in range(first, last + 1))

    def _page(self, number: int) -> bytes:
        for each in (self.pages.page(number), bytes(self.head.page_size)):
            if each is not None and digest_page(number, each) == self.digests.of(number):
                return each
        raise WalGap


def encode_base(source: WholeDatabase) -> Iterator[bytes]:
    """The parts of a base as they are stored, each made when it is asked for."""
    vault, head = source.vault, source.head
    said = BaseHead(
        vault=vault,
        seq=head.seq,
        epoch=head.epoch,
        checksum=head.checksum.hex(),
        digest=head.digest.hex(),
        size=head.size,
        page_size=head.page_size,
    )
    front = MAGIC + said.model_dump_json().encode()
    chain = checksum_of(vault, front)
    yield chain + front
    for place, data in enumerate(source.read(), 1):
        packed = zstd.compress(data, LEVEL)
        yield _part_checksum(vault, chain, place, packed) + packed


def decode_base(vault: str, seq: int, parts: Iterable[bytes]) -> tuple[LogHead, Iterator[bytes]]:
    """What the base of ``vault`` stored as of ``seq`` says it is, and its pages, a part at a time. Raises
    ``LogDamaged`` for one that is not what was stored, at the latest with its last part; the caller compares the digest
    of all."""
    left = iter(parts)
    first = next(left, b"")
    chain, front = bytes(first[:CHECKSUM_BYTES]), bytes(first[CHECKSUM_BYTES:])
    if len(first) > MAX_HEAD_BYTES or not front.startswith(MAGIC) or checksum_of(vault, front) != chain:
        raise LogDamaged(vault, seq, "its base has no readable head")
    try:
        said = BaseHead.model_validate_json(front[len(MAGIC) :])
    except ValidationError:
        raise LogDamaged(vault, seq, "its base was written by a newer strongroom, or changed") from None
    if said.format != FORMAT or (said.vault, said.seq) != (vault, seq) or not is_page_size(said.page_size):
        raise LogDamaged(vault, seq, "its base is another's, or of a newer strongroom")
    return said.to_log_head(), _unpack(said, chain, left)


def _unpack(said: BaseHead, chain: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    left, place = said.size * said.page_size, 0
    for place, part in enumerate(parts, 1):
        packed = bytes(part[CHECKSUM_BYTES:])
        if _part_checksum(said.vault, chain, place, packed) != part[:CHECKSUM_BYTES]:
            raise LogDamaged(said.vault, said.seq, f"part {place} of its base is not what was stored")
        try:
            data = zstd.ZstdDecompressor().decompress(packed, max_length=PART_BYTES + 1)
        except zstd.ZstdError:
            raise LogDamaged(said.vault, said.seq, f"part {place} of its base cannot be unpacked") from None
        if not data or len(data) != min(left, PART_BYTES):
            raise LogDamaged(said.vault, said.seq, f"part {place} of its base has another size")
        left -= len(data)
        yield data
    if left:
        raise LogDamaged(said.vault, said.seq, f"part {place + 1} of its base is missing")


def _part_checksum(vault: str, chain: bytes, place: int, packed: bytes) -> bytes:
    return checksum_of(vault, chain, place.to_bytes(4, "big"), packed)
