"""What a collection is: a folder that a vault reads besides its notes, and how it was when last looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vaults.domain.actors import GLOBAL

CollectionKind = Literal["markdown", "code", "documents"]
CollectionPhase = Literal["reading", "ready", "unavailable"]


@dataclass(frozen=True, slots=True)
class CollectionFields:
    """What whoever adds a collection says of it. ``include``: globs, none for what its kind reads; ``exclude``:
    patterns as in ``.gitignore``; ``context``: a line on what it is, by which each of its passages is found; without
    ``watch`` it is read when it is asked for."""

    name: str
    kind: CollectionKind
    root: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    context: str = ""
    workspace: str = GLOBAL
    watch: bool = True


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection as stored. ``revision`` grows with each change of it."""

    seq: int
    revision: int
    added_by: str
    created_at: str
    modified_at: str
    fields: CollectionFields


@dataclass(frozen=True, slots=True)
class CollectionState:
    """How it was when last looked at. ``revision``: the one that was read, 0 for none; ``head``: the commit that is
    checked out there; ``left_out``: files, and folders as one, by reason."""

    revision: int = 0
    phase: CollectionPhase = "reading"
    reason: str | None = None
    watching: str = "off"
    read_at: str | None = None
    head: str | None = None
    device: int | None = None
    files: int = 0
    documents: int = 0
    problems: int = 0
    bytes: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
