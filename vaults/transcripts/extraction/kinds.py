"""How good each kind is on the held-out judged conversations, and so which are made unless asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from vaults.transcripts.extraction.extracted_memory import ExtractionKind

PRECISION_FLOOR = 0.7
"""Held-out precision below which a kind is made only where it is asked for."""


@dataclass(frozen=True, slots=True)
class KindFigures:
    """Held-out figures of a kind, by ``python -m bench.quality --only extraction``."""

    precision: float
    recall: float

    @property
    def is_default(self) -> bool:
        """Whether it is made unless somebody says otherwise."""
        return self.precision >= PRECISION_FLOOR


KINDS: Mapping[ExtractionKind, KindFigures] = MappingProxyType(
    {
        "decision": KindFigures(0.79, 0.73),
        "fix": KindFigures(0.79, 0.83),
        "command": KindFigures(0.89, 1.0),
        "files": KindFigures(1.0, 1.0),
        "preference": KindFigures(0.83, 1.0),
        "open": KindFigures(0.62, 0.8),
    }
)

ALL_KINDS: frozenset[ExtractionKind] = frozenset(KINDS)
DEFAULT_KINDS: frozenset[ExtractionKind] = frozenset(kind for kind, known in KINDS.items() if known.is_default)
