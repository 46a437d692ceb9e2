"""The bytes inside an archive, decrypted and decompressed, never more than asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ops.backup import age_passphrase, encryption
from vaults.errors import InvalidArgument

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

PIECE = 1 << 20
AHEAD = 8 * PIECE
"""How far the disk reads on."""

ZSTD = b"\x28\xb5\x2f\xfd"
WINDOW_LOG = 23
"""Base-2 logarithm of the largest window of a stream: archives are written with 2 MB at most, and a stranger's may not
ask for more memory than four times that."""

NextPiece = Callable[[], bytes]


class ArchiveStream:
    """What is inside, in order. ``take`` gives pieces, ``finish`` makes sure that nothing follows."""

    def __init__(self, next_piece: NextPiece) -> None:
        self._next = next_piece
        self._decompressor = ZstdDecompressor(options={DecompressionParameter.window_log_max: WINDOW_LOG})

    def take(self, size: int) -> Iterator[bytes]:
        """Exactly ``size`` bytes. Raises ``InvalidArgument``."""
        while size:
            piece = self._some(min(size, PIECE))
            if not piece:
                raise InvalidArgument("archive", "is cut short")
            size -= len(piece)
            yield piece

    def read(self, size: int) -> bytes:
        """As ``take``, at once: for little."""
        return b"".join(self.take(size))

    def finish(self) -> None:
        """Raise ``InvalidArgument`` if anything follows."""
        if self._some(1) or self._decompressor.unused_data or self._next():
            raise InvalidArgument("archive", "goes on after its end")
        if not self._decompressor.eof:
            raise InvalidArgument("archive", "is cut short")

    def _some(self, most: int) -> bytes:
        try:
            while not self._decompressor.eof:
                data = self._next() if self._decompressor.needs_input else b""
                if not data and self._decompressor.needs_input:
                    return b""
                if found := self._decompressor.decompress(data, most):
                    return found
        except ZstdError:
            raise InvalidArgument("archive", "is damaged") from None
        return b""


class _ReadAhead:
    """Reads a file piece by piece, and has the disk fetch the next ones while this one is worked on."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0

    def next_piece(self) -> bytes:
        piece = self._file.read(PIECE)
        self._at += len(piece)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._file.fileno(), self._at + AHEAD - PIECE, PIECE, os.POSIX_FADV_WILLNEED)
        return piece


@contextmanager
def open_stream(
    file: BinaryIO, *, identities: tuple[str, ...] = (), passphrase: str | None = None
) -> Iterator[ArchiveStream]:
    """The contents of an open archive. Raises ``InvalidArgument`` for what is none, or is closed to these keys."""
    start = file.read(len(encryption.BY_PASSPHRASE))
    file.seek(0)
    if start.startswith(ZSTD):
        yield ArchiveStream(_ReadAhead(file).next_piece)
    elif start == encryption.BY_PASSPHRASE:
        if passphrase is None:
            raise InvalidArgument("archive", "is encrypted", hint="give the passphrase with --passphrase-file")
        pieces = age_passphrase.decrypt(file.read, passphrase)
        yield ArchiveStream(lambda: next((each for each in pieces if each), b""))
    elif start.startswith(encryption.MAGIC):
        with encryption.decrypted(file, identities) as take:
            yield ArchiveStream(take)
    else:
        raise InvalidArgument("archive", "is no archive of strongroom, or its beginning is damaged")
