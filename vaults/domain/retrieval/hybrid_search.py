"""``recall`` and ``search``: ranked hits within a token budget, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from vaults.db.sql import Reader
from vaults.domain.documents import storage
from vaults.domain.memories import corrections, indexing
from vaults.domain.notes.index import extraction
from vaults.domain.paging import cursors, search_cursors
from vaults.domain.retrieval import search_hits
from vaults.domain.retrieval.search_hits import Hit, RankedHit
from vaults.domain.text.fields import hash_parts
from vaults.graph.links import adjacency
from vaults.graph.links.adjacency import LinkedNotes
from vaults.search import fusion
from vaults.search.filters import SearchFilter
from vaults.search.item_groups import GroupBy
from vaults.search.pipeline import RankingReader, search
from vaults.search.question import LikedItem, RerankMode, SearchMode, SearchQuestion, SearchRanking
from vaults.search.search_run import ModelSwitched
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault

T = TypeVar("T")


NOTHING_LIKELY = "nothing here seems to answer this: what follows is only the nearest"
"""Warning of an answer none of whose hits reaches the threshold of likely relevance."""

MAX_LINKED = 10
"""Max hits annotated with links, and max links per direction of each."""

MAX_CORRECTED = 50
"""Max leading hits whose open corrections are shown."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, and how much of it to return."""

    query: str
    only: SearchFilter
    mode: SearchMode = "hybrid"
    limit: int = 10
    min_score: float = 0.0
    max_tokens: int = 2000
    group_by: GroupBy = "item"
    rerank: RerankMode = "auto"
    recent: bool = False
    like: LikedItem | None = None  # what to find others like
    like_words: str = ""  # its words, searched for while it has no vector
    cursor: str | None = None  # from the page before
    per_item: int = 5  # candidates per channel for each of ``limit``

    @property
    def digest(self) -> str:
        """A digest of the query that a cursor belongs to: all but the time, the page's size and the cursor itself."""
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = replace(self.only, now="", as_of=None)
        return hash_parts({**kept, "only": plain, "cursor": None, "limit": None, "max_tokens": None})[:16]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer of one vault."""

    shown: list[RankedHit]
    total: int  # items found before limit and budget cut the list
    mode_used: SearchMode
    spans: dict[str, fusion.ScoreRange]  # lowest and highest score per channel, to compare scores across vaults
    model: str | None = None  # key of the model: only cosines of the same one compare
    warnings: list[str] = field(default_factory=list)
    newest: int = 0  # the last passage there was
    terms: tuple[str, ...] = ()  # what was searched for
    likely: bool = True  # whether anything found is likely to answer

    @property
    def doubts(self) -> list[str]:
        """What its reader should know before anything else."""
        return [] if self.likely or not self.shown else [NOTHING_LIKELY]


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The answer. ``total`` counts the items found before limit and budget cut the list."""

    hits: list[Hit]
    total: int
    mode_used: SearchMode
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


async def rank_and_pick(
    vault: Vault, request: SearchRequest, pick: RankingReader[T], timings: StageTimings | None = None
) -> T:
    """Search, and read from the ranking what ``pick`` needs. Raises ``InvalidArgument`` for a cursor of another
    query."""
    await vault.adopt_model()
    before = await _decode_cursor(vault, request)
    only = replace(request.only, as_of=before.as_of) if before else request.only
    question = SearchQuestion(
        text=request.query,
        mode=request.mode,
        only=only,
        limit=request.limit,
        group_by=request.group_by,
        rerank=request.rerank,
        recent=request.recent,
        like=request.like,
        without=before.shown if before else frozenset(),
        per_item=request.per_item,
    )
    while True:
        try:
            return await search(vault.engines, question, pick, timings)
        except ModelSwitched:
            await vault.refresh_model()


async def search_vault(vault: Vault, request: SearchRequest) -> SearchAnswer:
    """The best items, at most ``limit``; the caller fits them into a token budget."""

    def pick(tx: Reader, ranking: SearchRanking) -> SearchAnswer:
        wanted = _reaching(ranking, request)
        found = search_hits.read_hits(tx, vault.name, ranking, wanted[: request.limit], request.only)
        wrong = corrections.find_about(tx, request.only.viewer, [each.hit.id for each in found[:MAX_CORRECTED]])
        warnings = [
            *ranking.warnings,
            *([] if found else _explain_empty(tx, request.only)),
            *map(corrections.describe_correction, wrong),
        ]
        newest = int(tx.value("SELECT MAX(seq) FROM passages") or 0)
        return SearchAnswer(
            shown=found,
            total=len(wanted),
            mode_used=ranking.mode,
            spans=dict(ranking.spans),
            model=ranking.model,
            warnings=warnings,
            newest=newest,
            terms=ranking.meant.query.shown,
            likely=ranking.relevance.has_likely,
        )

    found = await rank_and_pick(vault, request, pick)
    if request.like is not None and found.mode_used == "keyword" and not request.query.strip() and request.like_words:
        return await search_vault(vault, replace(request, query=request.like_words))
    _record_shown(vault, request.only.viewer, found.shown)
    return found


def _reaching(ranking: SearchRanking, request: SearchRequest) -> list[tuple[int, float]]:
    """The items whose relevance is at least what was asked for: with none asked for, all."""
    if not request.min_score:
        return ranking.items
    return [pair for pair in ranking.items if ranking.relevance.of(pair[0]) >= request.min_score]


def _record_shown(vault: Vault, viewer: str, shown: Sequence[RankedHit]) -> None:
    """Remember what was shown, so that storing it again is seen as an echo; a memory shown whole counts as read."""
    texts = [(each.item[0] == indexing.KIND, each.hit.content or each.hit.snippet or "", each.hit.id) for each in shown]
    vault.shown_texts.note(viewer, [(text, identity) for is_memory, text, identity in texts if is_memory])
    for is_memory, text, identity in texts:
        if not is_memory:
            vault.shown_texts.note_paragraphs(viewer, text, identity)
    vault.graph_cache.co_access.record_found([each.hit.id for each in shown if each.item[0] == extraction.KIND])
    vault.access_counts.update(
        each.item[1] for each in shown if each.item[0] == indexing.KIND and each.hit.content is not None
    )


async def make_next_cursor(
    vault: Vault, request: SearchRequest, found: SearchAnswer, kept: Sequence[RankedHit]
) -> str | None:
    """The cursor for the page after ``kept``; None when that was all."""
    if found.total <= len(kept):
        return None
    after = search_cursors.next_cursor(
        request.digest, found.newest, await _decode_cursor(vault, request), [each.item for each in kept]
    )
    return await cursors.seal(vault, after.text()) if after else None


async def _decode_cursor(vault: Vault, request: SearchRequest) -> search_cursors.SearchCursor | None:
    if not request.cursor:
        return None
    return search_cursors.parse_cursor(await cursors.unseal(vault, request.cursor), request.digest)


def _explain_empty(tx: Reader, only: SearchFilter) -> list[str]:
    """Which filter excludes everything: an empty answer says so, because a typo there looks like ignorance."""
    asked = [name for name in only.asked() if name != "kinds" or only.kinds != (indexing.KIND,)]
    alone = [name for name in asked if not _has_match(tx, only, "fields" if name == "where" else name)]
    unknown = [field_name for field_name, _ in only.fields if not _has_field(tx, only, field_name)]
    if unknown:
        return [f"where: nothing in this vault has the field {', '.join(unknown)}"]
    if alone:
        return [f"nothing in this vault passes the filter {', '.join(alone)}"]
    return [f"nothing passes all filters together: {', '.join(asked)}"] if len(asked) > 1 else []


def _has_match(tx: Reader, only: SearchFilter, name: str) -> bool:
    """Whether anything the caller may see passes this one filter."""
    one = SearchFilter(only.viewer, only.now, include_archived=True, **{name: getattr(only, name)})
    where, params = one.over_passages()
    return tx.one(f"SELECT 1 FROM passages p WHERE {where} LIMIT 1", params) is not None


def _has_field(tx: Reader, only: SearchFilter, name: str) -> bool:
    where, params = SearchFilter(only.viewer, only.now, include_archived=True).over_passages()
    found = tx.one(
        "SELECT 1 FROM item_fields f JOIN passages p ON p.kind = f.kind AND p.item = f.item"
        f" WHERE f.field = :name AND {where} LIMIT 1",
        {**params, "name": name},
    )
    return found is not None or storage.has_field(tx, only.viewer, name)


async def find_linked_notes(vault: Vault, shown: Sequence[RankedHit]) -> dict[str, LinkedNotes]:
    """The links of the first notes among the hits, by path."""
    paths = {each.item[1]: each.hit.id for each in shown[:MAX_LINKED] if each.item[0] == extraction.KIND}
    if not paths:
        return {}
    found = await vault.db.read(lambda tx: adjacency.read_linked_notes(tx, list(paths), MAX_LINKED))
    return {paths[number]: each for number, each in found.items()}
