"""What kinds of memories a model is asked for, and which of the rules' kinds they take the place of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias, get_args

from vaults.memory_types import MemoryType
from vaults.transcripts.extraction.extracted_memory import ExtractionKind

ModelKind: TypeAlias = Literal["codebase", "fix", "pattern", "decision", "preference", "useful"]

MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)

MODEL_MEMORY_TYPES: dict[ModelKind, MemoryType] = {
    "codebase": "learning",
    "fix": "error",
    "pattern": "learning",
    "decision": "decision",
    "preference": "preference",
    "useful": "fact",
}
"""The type a memory of each kind is stored with."""

_SHARED: frozenset[ExtractionKind] = frozenset(("decision", "fix", "preference"))
"""Kinds that the rules make, too. Commands that worked and files that were changed stay with the rules: tools say so
themselves, and a model could only repeat it."""


def replaced_kinds(kinds: Collection[ModelKind]) -> frozenset[ExtractionKind]:
    """The rules' kinds that a model asked for ``kinds`` answers instead."""
    return frozenset(kind for kind in _SHARED if kind in kinds)
