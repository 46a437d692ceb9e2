"""Notes that a new one may duplicate: with the same text, nearly the same name, or nearly the same meaning."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable
from pathlib import PurePosixPath

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.notes.edit.edit_results import SimilarNote
from vaults.domain.notes.index import extraction, note_rows
from vaults.domain.notes.index.extraction import KIND, NoteExtract
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.files.tree import FileContent, FileStamp
from vaults.graph.names import note_names
from vaults.index import embeddings
from vaults.markdown.fuzzy import find_nearest
from vaults.markdown.link_resolution import name_key
from vaults.search import candidates, passage_facts
from vaults.search.filters import SearchFilter
from vaults.vault import Vault

MAX_NAMED = 3
"""Max similar notes returned."""

WAIT_S = 0.3
"""Seconds the embedding model may take; without its answer, only text and names are compared."""

MIN_LIKENESS = 90
"""Score, of 100, from which two names count as nearly the same."""

MAX_COMPARED = 20_000
"""Max names a new one is compared with letter by letter. Equal names are found among any number."""

MAX_NAME_LENGTH = 200
"""Max characters of a name compared letter by letter: longer ones count only if equal, for comparing blocks others."""

_NUMBERS = re.compile(r"[0-9]+")


async def find_similar(vault: Vault, actor: Actor, path: str, data: bytes) -> list[SimilarNote]:
    """Other notes that seem to be about the same subject, best first."""
    content = FileContent(data, FileStamp(len(data), 0, 0, 0))
    new = await run_in(vault.shared.pool, extraction.extract_note, path, content, time.time_ns(), whole=False)
    by_name = await vault.db.read(lambda tx: _find_alike(tx, new))
    by_meaning = await _find_meant_alike(vault, actor, new)
    best: dict[str, SimilarNote] = {}
    for each in (*by_name, *by_meaning):
        if each.path != path and (each.path not in best or best[each.path].score < each.score):
            best[each.path] = each
    return sorted(best.values(), key=lambda each: (-each.score, each.path))[:MAX_NAMED]


def _find_alike(tx: Reader, new: NoteExtract) -> list[SimilarNote]:
    """Notes with the same text, or nearly the same name."""
    same = [each.path for each in note_rows.find_by_hash(tx, new.hash)] if new.blocks else []
    names = {name_key(PurePosixPath(new.path).stem), name_key(new.title)}
    paths = [*same, *(each.path for each in note_names.find_candidates(tx, sorted(names)))]
    certain = [SimilarNote(path, _read_title(tx, path), 1.0) for path in dict.fromkeys(paths)]
    return [*certain, *_find_spelled_alike(tx, names)]


def _read_title(tx: Reader, path: str) -> str:
    return str(tx.value("SELECT title FROM notes WHERE path = :path", {"path": path}))


def _find_spelled_alike(tx: Reader, names: Iterable[str]) -> list[SimilarNote]:
    from rapidfuzz import fuzz

    rows = tx.all(
        "SELECT path, title FROM notes WHERE length(title) <= :length LIMIT :limit",
        {"length": MAX_NAME_LENGTH, "limit": MAX_COMPARED},
    )
    known = [name_key(title) for _, title in rows]
    found = []
    for name in (each for each in names if len(each) <= MAX_NAME_LENGTH):
        close = find_nearest(name, known, fuzz.ratio, limit=2 * MAX_NAMED, least=MIN_LIKENESS)
        # Two days of a diary are spelled alike, and so are two parts of a series.
        found += [
            SimilarNote(path, title, round(score / 100, 4))
            for other, score, place in close
            for path, title in [rows[place]]
            if _NUMBERS.findall(other) == _NUMBERS.findall(name)
        ]
    return found


async def _find_meant_alike(vault: Vault, actor: Actor, new: NoteExtract) -> list[SimilarNote]:
    """Notes near in meaning, by the vector of the first passage, if the model is ready to answer."""
    if not new.blocks or vault.embedder.state().status != "ready":
        return []
    passages = await run_in(vault.shared.pool, new.blocks[0].cut, vault.shared.index.passage_tokens, new.labels)
    try:
        async with asyncio.timeout(WAIT_S):
            return await _find_near(vault, actor, passages[0].embedded)
    except (TimeoutError, EmbeddingUnavailable, Overloaded):
        return []


async def _find_near(vault: Vault, actor: Actor, text: str) -> list[SimilarNote]:
    embedder = vault.embedder
    query = (await embedder.texts([text], urgent=True))[0]
    model, near = embedder.identity, vault.shared.search.near_duplicate
    if model is None:
        return []
    only = SearchFilter(viewer=actor.identity, now=clock.now(), kinds=(KIND,))
    last, allowed = await vault.db.read(lambda tx: (embeddings.last_change(tx), candidates.allowed_passages(tx, only)))
    hits = await vault.projection.search(model, query, 2 * MAX_NAMED, allowed, at_least=last)
    close = {passage: score for passage, score in hits if score >= near}
    return await vault.db.read(lambda tx: _to_similar(tx, close, only)) if close else []


def _to_similar(tx: Reader, close: dict[int, float], only: SearchFilter) -> list[SimilarNote]:
    found = []
    for passage, about in passage_facts.read_facts(tx, close, only).items():
        row = tx.one("SELECT path, title FROM notes WHERE seq = :seq", {"seq": about.item[1]})
        if row is not None:
            path, title = row
            found.append(SimilarNote(path, title, round(min(close[passage], 1.0), 4)))
    return found
