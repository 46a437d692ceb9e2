"""A base: the whole database at one commit, in parts, and last of all a file that says it is whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import Field, ValidationError

from ops.change_log.failures import broken_log
from ops.change_log.names import BASE_FILE, BaseName, log_key
from ops.change_log.read_ahead import read_ahead
from ops.change_log.segments import Count, Hash, LogModel, WalMark, hash_of
from ops.change_log.store import LogStore

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = 1
PART_BYTES = 4 * 1024 * 1024
LEVEL = 3


class BasePart(LogModel):
    size: Count
    sha256: Hash


class BaseManifest(LogModel):
    """``parts`` in order, each ``PART_BYTES`` of the database but the last."""

    format: int = FORMAT
    line: str
    sequence: Count
    time: Count
    page_size: Annotated[int, Field(ge=512, le=65536)]
    pages: Count
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    wal: WalMark | None
    parts: tuple[BasePart, ...]

    @property
    def name(self) -> BaseName:
        return BaseName(self.sequence, self.time)

    @property
    def size(self) -> int:
        """Bytes in the store."""
        return sum(each.size for each in self.parts)


def folder_key(vault_id: str, line: str, name: BaseName) -> str:
    return f"{log_key(vault_id)}/{line}/{name}"


def part_key(vault_id: str, line: str, name: BaseName, number: int) -> str:
    return f"{folder_key(vault_id, line, name)}/{number:06d}"


def manifest_key(vault_id: str, line: str, name: BaseName) -> str:
    return f"{folder_key(vault_id, line, name)}/{BASE_FILE}"


def pack_part(data: bytes, seal: Callable[[bytes], bytes]) -> tuple[BasePart, bytes]:
    """A part as it is stored, and what the manifest says of it."""
    packed = seal(zstd.compress(data, LEVEL))
    return BasePart(size=len(packed), sha256=hash_of(packed)), packed


def read_manifest(store: LogStore, vault_id: str, line: str, name: BaseName) -> BaseManifest:
    """What a base says of itself. Raises ``InvalidArgument`` for one that is damaged."""
    try:
        manifest = BaseManifest.model_validate_json(store.get(manifest_key(vault_id, line, name)))
    except ValidationError:
        raise broken_log(f"holds a damaged base: {name}") from None
    if manifest.format != FORMAT:
        raise broken_log("was written by a newer strongroom")
    if manifest.name != name or manifest.line != line:
        raise broken_log(f"holds a base under another's name: {name}")
    return manifest


def read_parts(
    store: LogStore, vault_id: str, manifest: BaseManifest, unseal: Callable[[bytes], bytes]
) -> Iterator[bytes]:
    """The pages of a base, a part at a time. Raises ``InvalidArgument`` for one that is damaged."""
    left = manifest.pages * manifest.page_size
    keys = (part_key(vault_id, manifest.line, manifest.name, number) for number in range(len(manifest.parts)))
    for part, fetched in zip(manifest.parts, read_ahead(store, keys), strict=True):
        packed = fetched.data
        if len(packed) != part.size or fetched.hash != part.sha256:
            raise broken_log(f"holds a damaged base: {manifest.name}")
        unpacking = zstd.ZstdDecompressor()
        try:
            data = unpacking.decompress(unseal(packed), max_length=PART_BYTES + 1)
        except zstd.ZstdError:
            raise broken_log(f"holds a damaged base: {manifest.name}") from None
        if len(data) != min(left, PART_BYTES):
            raise broken_log(f"holds a damaged base: {manifest.name}")
        left -= len(data)
        yield data
    if left:
        raise broken_log(f"holds a damaged base: {manifest.name}")
