"""The file of a snapshot: which pieces it needs, for whoever clears up, and what they make, for whoever restores.

::

    STRONGROOM-SNAPSHOT\\n   SHA-256 of all that follows   4 bytes: length of the head   head   body

The head is readable to everybody who can list the store and tells no more than that list. The body is encrypted where
the operator set recipients; the server that writes it cannot read it then.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.backup.chunks import CHUNK_BYTES
from ops.backup.sealing import close, damaged, disclose
from vaults.errors import VaultQuarantined

FORMAT = 1
MAGIC = b"STRONGROOM-SNAPSHOT\n"
_DIGEST, _LENGTH = 32, 4
MAX_BYTES = 256 << 20
"""Of a head or a body, unpacked."""

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
ChunkSize = Annotated[int, Field(ge=1, le=CHUNK_BYTES)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class SnapshotHead(_Part):
    """``chunks``: name and stored bytes of each piece."""

    format: Literal[1] = 1
    number: Annotated[int, Field(ge=1)]
    encrypted: bool
    chunks: tuple[tuple[Hash, Count], ...]


class MemberPlace(_Part):
    """Where a member's bytes are: from ``offset`` in the first of these pieces on, through the others."""

    chunks: tuple[Count, ...]
    offset: Count = 0


class SnapshotBody(_Part):
    """``manifest``: its very bytes, which the signature is of; ``hashes`` and ``sizes``: of the pieces of the head as
    they are unpacked; ``places``: of the members, in their order."""

    manifest: str
    signature: str | None = None
    sizes: tuple[ChunkSize, ...]
    hashes: tuple[Hash, ...]
    places: tuple[MemberPlace, ...]


def pack_snapshot(
    number: int, chunks: tuple[tuple[str, int], ...], body: SnapshotBody, recipients: tuple[str, ...]
) -> bytes:
    """The file's bytes."""
    stored = close(body.model_dump_json(exclude_defaults=True).encode(), recipients)
    head = SnapshotHead(number=number, encrypted=bool(recipients), chunks=chunks)
    packed = close(head.model_dump_json().encode(), ())
    rest = b"".join([len(packed).to_bytes(_LENGTH, "big"), packed, stored])
    return b"".join([MAGIC, hashlib.sha256(rest).digest(), rest])


def unpack_head(data: bytes) -> tuple[SnapshotHead, bytes]:
    """The head, and the body as it is stored, the hash of both compared. Raises ``InvalidArgument`` for what is
    damaged, ``VaultQuarantined`` (reason ``future``) for what a newer strongroom wrote."""
    digest, rest = data[len(MAGIC) : len(MAGIC) + _DIGEST], data[len(MAGIC) + _DIGEST :]
    if not data.startswith(MAGIC) or hashlib.sha256(rest).digest() != digest:
        raise damaged("is no snapshot, or was changed or cut short after it was written")
    end = _LENGTH + int.from_bytes(rest[:_LENGTH], "big")
    unpacked = disclose(rest[_LENGTH:end], MAX_BYTES, None)
    try:
        stated = json.loads(unpacked).get("format")
    except (ValueError, AttributeError, RecursionError):
        raise damaged("has a head that is none") from None
    if isinstance(stated, int) and stated > FORMAT:
        raise VaultQuarantined("the backup was written by a newer strongroom", hint="upgrade this one", reason="future")
    try:
        head = SnapshotHead.model_validate_json(unpacked)
    except ValidationError:
        raise damaged("has a head that is none") from None
    return head, rest[end:]


def unpack_body(head: SnapshotHead, stored: bytes, identities: tuple[str, ...]) -> SnapshotBody:
    """What the pieces make. Raises ``InvalidArgument``."""
    unpacked = disclose(stored, MAX_BYTES, identities if head.encrypted else None)
    try:
        body = SnapshotBody.model_validate_json(unpacked)
    except ValidationError:
        raise damaged("has a body that is none") from None
    if not len(body.sizes) == len(body.hashes) == len(head.chunks):
        raise damaged("does not agree with itself on its pieces")
    return body
