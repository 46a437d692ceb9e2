"""The vector index on disk: raw arrays under one checksum.

FAISS's own reader noticed none of 30 flipped bits and takes lengths from the file, so a damaged file can corrupt the
process. Here FAISS parses nothing: arrays of known type and size follow one another, and none of them is used before
the checksum over everything has been verified.

::

    magic 8 | format u32 | header length u32 | file length u64 | header JSON | arrays, each at a multiple of 64 | sha256

Numbers are little endian. A checksum finds damage, not malice: who may write here may also write the vault.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from vaults.files.atomic import Buffer, sweep_temporaries, sync_folder, write_atomic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays: TypeAlias = dict[str, NDArray[Any]]

InvalidReason: TypeAlias = Literal["missing", "truncated", "checksum", "version", "vault", "model", "width"]

MAGIC = b"SRVECTOR"
FORMAT = 1
PRELUDE = struct.Struct("<8sIIQ")
DIGEST_BYTES = hashlib.sha256().digest_size
ALIGNMENT = 64
PIECE_BYTES = 1 << 20
DTYPES = ("<i8", "<f4", "<f2", "|u1")


class SnapshotInvalid(Exception):
    """Not usable as this vault's index; ``reason`` says why. The owner rebuilds from SQLite: no caller sees this."""

    def __init__(self, reason: InvalidReason) -> None:
        super().__init__(reason)
        self.reason: InvalidReason = reason


@dataclass(frozen=True, slots=True)
class SnapshotStamp:
    """Whose vectors these are, and up to which number of the vault's change sequence."""

    vault_id: str
    model: str
    width: int
    seen: int


def write(path: Path, stamp: SnapshotStamp, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Replace the snapshot at ``path``, durably, and remove what killed writers left. Raises StorageFull, ReadOnly."""
    sweep_temporaries(path)
    write_atomic(path, _with_digest(stamp, arrays))


def remove(path: Path) -> None:
    """Remove the snapshot at ``path``, and what killed writers left of one."""
    if path.exists():
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    sweep_temporaries(path)


def read(path: Path, expected: SnapshotStamp) -> tuple[SnapshotStamp, Arrays]:
    """The stamp and arrays at ``path``; the arrays share one buffer. ``expected.seen`` is ignored.

    Raises SnapshotInvalid.
    """
    raw = _read_bytes(path)
    header = _verify_header(raw)
    try:
        stamp = SnapshotStamp(*(header[key] for key in SnapshotStamp.__slots__))
        arrays = _arrays(raw, header["arrays"], header["start"])
    except (KeyError, TypeError, ValueError) as failure:
        raise SnapshotInvalid("version") from failure
    if stamp.vault_id != expected.vault_id:
        raise SnapshotInvalid("vault")
    if stamp.model != expected.model:
        raise SnapshotInvalid("model")
    if stamp.width != expected.width:
        raise SnapshotInvalid("width")
    return stamp, arrays


def _with_digest(stamp: SnapshotStamp, arrays: Mapping[str, NDArray[Any]]) -> Iterator[Buffer]:
    digest = hashlib.sha256()
    for buffer in _layout(stamp, arrays):
        for piece in _pieces(buffer):  # copies: a row may be wiped while the disk works
            digest.update(piece)
            yield piece
    yield digest.digest()


def _pieces(buffer: Buffer) -> Iterator[bytes]:
    view = memoryview(buffer).cast("B")
    for start in range(0, len(view), PIECE_BYTES):
        yield bytes(view[start : start + PIECE_BYTES])


def _layout(stamp: SnapshotStamp, arrays: Mapping[str, NDArray[Any]]) -> Iterator[Buffer]:
    import numpy as np

    header = _header(stamp, arrays)
    start = _align(PRELUDE.size + len(header))
    total = start + sum(_align(array.nbytes) for array in arrays.values()) + DIGEST_BYTES
    yield PRELUDE.pack(MAGIC, FORMAT, len(header), total)
    yield header.ljust(start - PRELUDE.size)
    for array in arrays.values():
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        yield bytes(_align(array.nbytes) - array.nbytes)


def _header(stamp: SnapshotStamp, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    fields = {key: getattr(stamp, key) for key in SnapshotStamp.__slots__}
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    return json.dumps({**fields, "arrays": listed}).encode()


def _align(size: int) -> int:
    return math.ceil(size / ALIGNMENT) * ALIGNMENT


def _read_bytes(path: Path) -> NDArray[np.uint8]:
    """The whole file; anything that is not a readable regular file counts as missing."""
    import numpy as np

    try:
        # A FIFO or device put in its place must not make us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as failure:
        raise SnapshotInvalid("missing") from failure
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SnapshotInvalid("missing")
        raw, at = np.empty(status.st_size, np.uint8), 0
        while at < len(raw) and (count := os.readv(descriptor, [raw.data[at:]])):
            at += count
    except OSError as failure:
        raise SnapshotInvalid("missing") from failure
    finally:
        os.close(descriptor)
    if at < len(raw):
        raise SnapshotInvalid("truncated")
    return raw


def _verify_header(raw: NDArray[np.uint8]) -> dict[str, Any]:
    if len(raw) < PRELUDE.size + DIGEST_BYTES:
        raise SnapshotInvalid("truncated")
    magic, version, length, total = PRELUDE.unpack(raw[: PRELUDE.size].tobytes())
    if (magic, version) != (MAGIC, FORMAT):
        raise SnapshotInvalid("version")
    if len(raw) < total:
        raise SnapshotInvalid("truncated")
    body = raw.data[:-DIGEST_BYTES]
    if len(raw) > total or hashlib.sha256(body).digest() != raw[-DIGEST_BYTES:].tobytes():
        raise SnapshotInvalid("checksum")
    try:
        header = json.loads(raw[PRELUDE.size : PRELUDE.size + length].tobytes())
    except ValueError as failure:
        raise SnapshotInvalid("version") from failure
    if not isinstance(header, dict):
        raise SnapshotInvalid("version")
    header["start"] = _align(PRELUDE.size + length)
    return header


def _arrays(raw: NDArray[np.uint8], listed: list[tuple[str, str, list[int]]], start: int) -> Arrays:
    import numpy as np

    arrays: Arrays = {}
    for name, dtype, shape in listed:
        if dtype not in DTYPES or any(side < 0 for side in shape):
            raise ValueError(dtype)
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if start + size > len(raw) - DIGEST_BYTES:
            raise ValueError(name)
        arrays[name] = raw[start : start + size].view(dtype).reshape(shape)
        start += _align(size)
    return arrays
