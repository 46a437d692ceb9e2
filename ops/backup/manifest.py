"""What a backup says of itself: whose it is, from when, and the hash of every byte in it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ops.backup.member_paths import CONTROL_ROOTS, VAULT_ROOTS, check_paths
from vaults.errors import InvalidArgument, VaultQuarantined

FORMAT = 1
"""Of manifests and of what they describe. A higher one is refused."""

MAX_BYTES = 64 << 20
"""Max bytes of a manifest: some 400,000 members."""

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Part(BaseModel):
    # Unknown fields are let through: they are of a later version of the same format.
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class ManifestMember(_Part):
    """One file of the backup: its path inside, its bytes and their SHA-256."""

    path: str
    size: Count
    sha256: Hash


class BackupQuestion(_Part):
    """A keyword search made when the backup was, and the ids of its first answers, best first."""

    text: Annotated[str, Field(max_length=1000)]
    answers: tuple[str, ...]


class Remark(_Part):
    """Something that lay among the notes and is not in the backup as people might expect, and why."""

    path: str
    reason: str


class BackupManifest(_Part):
    """``schema``: how many migrations its database had; ``position``: number of the last change in the database;
    ``note_change``: of the last one to notes; ``counts``: rows of each canonical table; ``ids_digest``: SHA-256 over
    the sorted ids of the rows that have one;
    ``remarks``: the first of ``remark_count``. A backup of the installation (``kind`` is control) has no vault."""

    format: Literal[1] = 1
    kind: Literal["vault", "control"]
    installation: str
    vault: str = ""
    vault_id: str = ""
    made_at: Moment
    version: str
    schema_steps: Annotated[int, Field(ge=1, le=10_000, alias="schema")]
    position: Count = 0
    note_change: Count = 0
    in_place: bool = False
    counts: dict[str, Count]
    ids_digest: Hash
    questions: tuple[BackupQuestion, ...] = ()
    remarks: tuple[Remark, ...] = ()
    remark_count: Count = 0
    members: tuple[ManifestMember, ...]

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, populate_by_name=True)

    @property
    def size(self) -> int:
        """Bytes of all members."""
        return sum(each.size for each in self.members)

    def find(self, path: str) -> ManifestMember | None:
        """The member with this path. Walks the list."""
        return next((each for each in self.members if each.path == path), None)


def to_bytes(manifest: BackupManifest) -> bytes:
    """The stored form."""
    return json.dumps(manifest.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=1).encode()


def from_bytes(data: bytes) -> BackupManifest:
    """Read a stored manifest. Raises ``InvalidArgument`` for one that is none, ``VaultQuarantined`` (reason ``future``)
    for one of a later format."""
    if len(data) > MAX_BYTES:
        raise InvalidArgument("archive", "has a manifest that is too large")
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidArgument("archive", "has a manifest that is no JSON") from None
    stated = found.get("format") if isinstance(found, dict) else None
    if isinstance(stated, int) and not isinstance(stated, bool) and stated > FORMAT:
        raise VaultQuarantined("the backup was written by a newer strongroom", hint="upgrade this one", reason="future")
    try:
        manifest = BackupManifest.model_validate_json(data)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "manifest"
        raise InvalidArgument("archive", f"has a manifest in which {where} is wrong") from None
    check_paths((each.path for each in manifest.members), VAULT_ROOTS if manifest.kind == "vault" else CONTROL_ROOTS)
    return manifest
