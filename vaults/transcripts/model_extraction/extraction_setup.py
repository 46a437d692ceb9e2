"""Who extracts and what is asked for, and what came of it in a pass."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from vaults.transcripts.model_extraction.call_budget import CallBudget
from vaults.transcripts.model_extraction.language_model import LanguageModel
from vaults.transcripts.model_extraction.model_kinds import ModelKind


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """What is asked for: ``kinds``, of conversations quiet for ``quiet_s``, at most ``max_characters`` at once."""

    kinds: Collection[ModelKind]
    quiet_s: float
    max_characters: int


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """Who extracts, how often and what; ``clock``: seconds of the wall clock."""

    model: LanguageModel
    budget: CallBudget
    limits: ExtractionLimits
    clock: Callable[[], float] = time.time


@dataclass(slots=True)
class ExtractionTally:
    """What became of calls in a pass. ``failed``: why there was no answer, ``unusable``: answers in whose place the
    rules stand, ``rejected``: memories left out of answers; ``waiting``: conversations for which today's budget is
    too small."""

    calls: int = 0
    memories: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unusable: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    left_to_rules: int = 0
    waiting: int = 0
