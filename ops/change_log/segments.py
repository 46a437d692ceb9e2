"""A segment: the commits of about a second, packed, with a head that says what they are and what came before.

Each names the hash of the one before it, so a lost, changed or exchanged one is found. The head is readable: it is what
continues a log after a restart, also where the rest is sealed for somebody else.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.change_log import records
from ops.change_log.failures import broken_log
from ops.change_log.names import SegmentName
from ops.change_log.records import LoggedCommit
from vaults.db.wal_frames import WalHeader, WalPosition

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = 1
MAGIC = b"strongroom change log\n"
MAX_HEAD = 8192
LEVEL = 3

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=2**63)]


class LogModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WalMark(LogModel):
    """Where in SQLite's own log the last commit ended: who starts again finds it there, if it is still the same."""

    page_size: int
    sequence: Count
    salts: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    big_endian: bool
    head: tuple[Count, Count]
    frames: Count
    checksum: tuple[Count, Count]


class SegmentHead(LogModel):
    format: int = FORMAT
    line: str
    number: Count
    previous: Hash
    first: Count
    last: Count
    began: Count
    ended: Count
    page_size: Annotated[int, Field(ge=512, le=65536)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    wal: WalMark | None
    size: Count
    sha256: Hash

    @property
    def name(self) -> SegmentName:
        return SegmentName(self.number, self.last, self.ended)


@dataclass(frozen=True, slots=True)
class Segment:
    head: SegmentHead
    data: bytes

    @property
    def hash(self) -> str:
        """What the next one names as ``previous``."""
        return hash_of(self.data)


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def to_mark(position: WalPosition | None) -> WalMark | None:
    if position is None:
        return None
    head = position.header
    return WalMark(
        page_size=head.page_size,
        sequence=head.sequence,
        salts=head.salts.hex(),
        big_endian=head.big_endian,
        head=head.checksum,
        frames=position.frames,
        checksum=position.checksum,
    )


def to_position(mark: WalMark | None) -> WalPosition | None:
    if mark is None:
        return None
    head = WalHeader(mark.page_size, mark.sequence, bytes.fromhex(mark.salts), mark.big_endian, mark.head)
    return WalPosition(head, mark.frames, mark.checksum)


class SegmentDraft:
    """Commits on their way into a segment: packed as they come, so that no more than the packed ones are held."""

    def __init__(self) -> None:
        self._packer = zstd.ZstdCompressor(level=LEVEL)
        self._packed: list[bytes] = []
        self._first: LoggedCommit | None = None
        self._last: LoggedCommit | None = None
        self.size = 0

    @property
    def is_empty(self) -> bool:
        return self._last is None

    def add(self, record: LoggedCommit) -> None:
        self._append(self._packer.compress(records.encode(record)))
        self._first, self._last = self._first or _without_pages(record), _without_pages(record)

    def _append(self, packed: bytes) -> None:
        self._packed.append(packed)
        self.size += len(packed)

    def finish(
        self,
        line: str,
        number: int,
        previous: str,
        page_size: int,
        position: WalPosition | None,
        seal: Callable[[bytes], bytes],
    ) -> Segment:
        """The segment. The draft is used up."""
        self._append(self._packer.flush())
        first, last, body = self._first, self._last, seal(b"".join(self._packed))
        assert first is not None, "a segment without commits"
        assert last is not None, "a segment without commits"
        head = SegmentHead(
            line=line,
            number=number,
            previous=previous,
            first=first.sequence,
            last=last.sequence,
            began=first.time,
            ended=last.time,
            page_size=page_size,
            digest=last.digest.hex(),
            wal=to_mark(position),
            size=len(body),
            sha256=hash_of(body),
        )
        return Segment(head, MAGIC + head.model_dump_json().encode() + b"\n" + body)


def _without_pages(record: LoggedCommit) -> LoggedCommit:
    return LoggedCommit(record.sequence, record.time, record.size, record.digest, ())


def read_head(data: bytes) -> SegmentHead:
    """The head of a segment. Raises ``InvalidArgument``."""
    end = data.find(b"\n", len(MAGIC), len(MAGIC) + MAX_HEAD)
    if not data.startswith(MAGIC) or end < 0:
        raise broken_log("holds a segment that is none")
    try:
        head = SegmentHead.model_validate_json(data[len(MAGIC) : end])
    except ValidationError:
        raise broken_log("holds a segment whose head is damaged") from None
    if head.format != FORMAT:
        raise broken_log("was written by a newer strongroom")
    return head


def read_records(data: bytes, unseal: Callable[[bytes], bytes]) -> Iterator[LoggedCommit]:
    """The commits of a segment, checked: none is given of one that is damaged anywhere. Raises ``InvalidArgument``."""
    head = read_head(data)
    body = data[data.index(b"\n", len(MAGIC)) + 1 :]
    if len(body) != head.size or hash_of(body) != head.sha256:
        raise broken_log(f"holds a damaged segment: number {head.number}")
    expected = head.first
    with zstd.ZstdFile(io.BytesIO(unseal(body))) as unpacking:
        try:
            for record in records.decode(unpacking.read, head.page_size):
                if record.sequence != expected:
                    raise broken_log(f"lacks commits inside segment {head.number}")
                expected += 1
                yield record
        except (zstd.ZstdError, EOFError):
            raise broken_log(f"holds a damaged segment: number {head.number}") from None
    if expected != head.last + 1:
        raise broken_log(f"lacks commits inside segment {head.number}")
