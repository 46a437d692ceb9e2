"""What a memory is: its fields as given, as stored, and the rows in between."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from vaults import clock
from vaults.domain.actors import GLOBAL
from vaults.domain.memories.memory_keys import OWNER_LENGTH
from vaults.domain.text.fields import Filled, Label, Tag, check_json_size, clean
from vaults.memory_types import MemoryType

Tier = Literal["hot", "warm", "cold"]
Visibility = Literal["shared", "private"]


def _applies_to(value: str) -> str:
    if value == GLOBAL or re.match(r"^(file|area):\S", value):
        return clean(value)
    raise ValueError("must be global, file:<path> or area:<name>")


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    return check_json_size(value, 10)


def _require_full_commit(text: str) -> str:
    if not re.fullmatch(r"(?:[0-9a-f]{40}|[0-9a-f]{64})", text.lower()):
        raise ValueError("must be a full commit id, 40 or 64 hexadecimal digits")
    return text.lower()


Content = Annotated[Filled, Field(max_length=51_200, description="what to remember; Markdown welcome")]
Title = Annotated[Filled, Field(max_length=500, description="one line")]
Tags = Annotated[list[Tag], Field(max_length=20, description="labels")]
Keywords = Annotated[list[Tag], Field(max_length=20, description="further words it should be found by")]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata), Field(description="JSON kept beside it, ≤ 10 KB")]
AppliesTo = Annotated[
    str, Field(max_length=500, description="global, file:<path> or area:<name>"), AfterValidator(_applies_to)
]
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="0 guess … 1 certain")]
Position = Annotated[int, Field(ge=0, le=2**53, description="place in the parent; default: after the last")]
Commit = Annotated[
    str, Field(max_length=64, description="full id of the commit it speaks of"), AfterValidator(_require_full_commit)
]
Key = Annotated[Label, Field(description="your name for it; again: changes it")]
TtlDays = Annotated[float, Field(gt=0, le=36_500, allow_inf_nan=False, description="days until it expires")]


class MemoryFields(BaseModel):
    """A memory as given: by a tool call or a line of an import."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    content: Content
    title: Title | None = None
    type: Annotated[MemoryType, Field(description="what kind of memory")] = "raw"
    tags: Tags = []
    metadata: Metadata = {}
    thread: Annotated[Label | None, Field(description="line of work")] = None
    applies_to: AppliesTo = GLOBAL
    workspace: Annotated[Label | None, Field(description="project; default: the caller's")] = None
    entity: Annotated[Label | None, Field(description="what it is about")] = None
    keywords: Keywords = []
    author: Annotated[Label | None, Field(description="who said it; default: you")] = None
    parent: Annotated[Label | None, Field(description="conversation or document it is part of")] = None
    position: Position | None = None
    confidence: Confidence | None = None
    occurred_at: Annotated[Label | None, Field(description="when it happened, RFC 3339")] = None
    ttl_days: TtlDays | None = None
    visibility: Annotated[Visibility, Field(description="private: only you find it")] = "shared"
    tier: Annotated[Tier, Field(description="how close at hand")] = "warm"
    external_id: Annotated[Label | None, Field(description="your own id for it, unique in the vault")] = None
    anchor_commit: Commit | None = None
    key: Key | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory, whole. ``access_count`` and ``accessed_at``: how often it was read before, by anybody, and when
    last, where that was looked up. ``confidence_now``: what is left of ``confidence`` when nobody read it for long;
    ``warnings``: what was taken out of it just now. ``supersedes`` names the first of several
    that it took the place of: follow a chain by ``superseded_by``."""

    id: str
    type: str
    title: str
    content: str
    tags: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    entity: str | None = None
    author: str = ""
    workspace: str = GLOBAL
    thread: str | None = None
    applies_to: str = GLOBAL
    parent: str | None = None
    position: int | None = None
    confidence: float | None = None
    occurred_at: str | None = None
    expires_at: str | None = None
    visibility: str = "shared"
    tier: str = "warm"
    archived_at: str | None = None
    archived_reason: str | None = None
    superseded_by: str | None = None
    supersedes: str | None = None
    external_id: str | None = None
    version: int = 0
    created_at: str = ""
    updated_at: str = ""
    anchor_commit: str | None = None
    key: str | None = None
    access_count: int = 0
    accessed_at: str | None = None
    confidence_now: float | None = None
    warnings: list[str] | None = None


ID_START = 8
"""Hex digits at the start of an id that tell when the memory was stored, to 66 seconds, whatever time it states."""


def id_start(moment: datetime) -> str:
    """The start of the ids given out at a time."""
    return f"{max(0, int(moment.timestamp() * 1000)):012x}"[:ID_START]


def moment_of_id(start: str) -> str:
    """The time, in stored form, from which on ids with this start were given out; empty for an id of another format."""
    try:
        return clock.to_text(datetime.fromtimestamp((int(start, 16) << 16) / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def day_of_id(start: str) -> str:
    """The day, UTC, on which an id with this start was given out; empty for an id of another format."""
    return moment_of_id(start)[:10]


KEY = f"SUBSTR(m.owner_key, {OWNER_LENGTH + 1})"
"""The caller's own key, from alias ``m``."""

COLUMNS = (
    "m.id, m.type, m.title, m.content, m.tags, m.keywords, m.metadata, m.entity, m.author, m.workspace, m.thread,"
    " m.applies_to, m.parent, m.position, m.confidence, m.occurred_at, m.expires_at, m.visibility, m.tier,"
    " m.archived_at, m.archived_reason, m.superseded_by, m.supersedes, m.external_id, m.version, m.created_at,"
    f" m.updated_at, m.anchor_commit, {KEY}"
)
"""The columns of ``Memory``, in field order, from alias ``m``."""


def from_row(columns: Sequence[Any]) -> Memory:
    """The memory from the values of ``COLUMNS``."""
    identity, kind, title, content, tags, keywords, metadata, *others = columns
    # Mostly there are none, and a search reads ten memories.
    labels = [] if tags == "[]" else json.loads(tags)
    words = [] if keywords == "[]" else json.loads(keywords)
    return Memory(
        identity, kind, title, content, labels, words, {} if metadata == "{}" else json.loads(metadata), *others
    )
