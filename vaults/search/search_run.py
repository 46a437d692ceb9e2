"""A search under way: what it runs on, and what its stages have found so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vaults.db.connection import Database
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.service import EmbeddingService
from vaults.index.projection import Projection
from vaults.observer import Observer
from vaults.search.candidates import SearchCandidates
from vaults.search.expansion_endpoint import QueryExpander
from vaults.search.facts_cache import FactsCache
from vaults.search.query import Query
from vaults.search.query_expansion import NO_VARIANTS, QueryVariants
from vaults.search.question import InterpretedQuestion, SearchMode, SearchQuestion
from vaults.search.ranking_cache import RankingCache
from vaults.search.relevance_threshold import ThresholdCache
from vaults.search.stage_timings import StageTimings
from vaults.search.vocabulary import Vocabulary
from vaults.settings import ExpansionSettings, RerankSettings, SearchSettings

if TYPE_CHECKING:
    import numpy as np


class ModelSwitched(Exception):
    """The vault's vectors are of another model than the one the question was embedded with: search again with it."""


@dataclass(frozen=True, slots=True)
class SearchEngines:
    """What a search runs on: one vault's database, vectors, words and rankings, its model, the process's settings."""

    db: Database
    projection: Projection  # of memories and notes
    documents: Projection
    vocabulary: Vocabulary
    rankings: RankingCache
    facts: FactsCache
    embedder: EmbeddingService
    model_name: str | None  # the name it was chosen by; None: the server's own
    cross: CrossEncoderService
    expander: QueryExpander
    observer: Observer
    threshold: ThresholdCache
    settings: SearchSettings
    rerank: RerankSettings
    expansion: ExpansionSettings


@dataclass(frozen=True, slots=True)
class KeywordPass:
    """What one read of the database says before the vector search."""

    version: int  # ``Reader.version`` of the read
    found: SearchCandidates
    meant: InterpretedQuestion
    last_change: int  # number of the newest change of a vector
    owed: bool  # a passage that the viewer may see has no vector yet
    late: str | None  # warning: the time limit cut the search short
    expires: str | None  # when the next memory expires, in stored form


@dataclass(frozen=True, slots=True)
class SearchRun:
    """A search under way. Each stage returns it with more filled in."""

    engines: SearchEngines
    asked: SearchQuestion
    timings: StageTimings
    query: Query  # as typed
    embedded_text: str
    depth: int  # passages wanted per channel
    words: KeywordPass
    vector: np.ndarray | None = None
    warning: str | None = None  # why there is no vector
    rephrased: QueryVariants = NO_VARIANTS

    @property
    def mode(self) -> SearchMode:
        """What can really be done."""
        return self.asked.mode if self.vector is not None else "keyword"

    @property
    def is_provisional(self) -> bool:
        """Whether asking again may give a better answer even if nothing is committed in between."""
        warnings = (self.warning, self.rephrased.warning, self.words.late)
        return any(warning is not None for warning in warnings) or self._lacks_vectors

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of the answer should know."""
        meant = self.words.meant
        common = f"too common here to be searched for: {', '.join(meant.common)}" if meant.common else None
        owed = "some texts have no vector yet: those are found by keyword only" if self._lacks_vectors else None
        warnings = (common, self.rephrased.warning, self.words.late, self.warning or owed)
        return (*meant.query.warnings, *(warning for warning in warnings if warning is not None))

    @property
    def _lacks_vectors(self) -> bool:
        return self.words.owed and self.vector is not None
