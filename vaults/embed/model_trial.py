"""Tries a model on questions whose answers are known: what it finds, how quick it is and what memory it takes.

A trial runs in a process of its own, so that no model is measured with what another left in memory.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.child_processes import answer_messages, start_process
from vaults.embed.backend import Embedder
from vaults.embed.batches import BATCH_CHARACTERS, split_into_batches
from vaults.embed.engines import load_embedder
from vaults.embed.prefixes import prefixes_of
from vaults.embed.state import plain_reason
from vaults.embed.vector_checks import embed_rows
from vaults.settings import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np

TIMED_QUERIES = 50
"""Questions that are asked one by one, for the time of one."""

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class JudgedTexts:
    """``texts``, the item each belongs to, and questions, each with the item that answers it."""

    texts: tuple[str, ...]
    items: tuple[int, ...]
    questions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of ``questions`` whose item came first, and among the first ten; and the mean of 1 / its place."""

    questions: int
    recall_at_1: float
    recall_at_10: float
    mrr: float


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """What a trial measured. ``memory_mib``: what the process grew by, from before the model to after the texts.
    ``quality`` None: nothing was judged."""

    width: int
    engine: str
    load_s: float
    texts_per_s: float
    query_ms: float
    memory_mib: float
    quality: Quality | None


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What the process is to do."""

    settings: EmbeddingSettings
    judged: JudgedTexts


async def try_apart(request: TrialRequest) -> ModelTrial | str:
    """The trial, in a process of its own; a string says why there is none."""
    import pickle

    async with AsyncExitStack() as stack:
        process = await start_process("from vaults.embed.model_trial import answer; answer()", stack)
        answer = await process.request(request) if process is not None else None
    if answer is None:
        return "its process ended: there may be too little memory for it"
    found: ModelTrial | str = pickle.loads(answer)  # noqa: S301  from our own child
    return found


def answer() -> None:
    """What the process does."""
    sink, sys.stdout = sys.stdout.buffer, sys.stderr  # libraries that greet must not do it among the answers
    answer_messages(_try, target=sink)


def _try(message: object) -> ModelTrial | str:
    assert isinstance(message, TrialRequest)
    try:
        return try_model(message)
    except Exception as failure:  # noqa: BLE001 - whatever it is, this model cannot be measured, the others can
        return plain_reason(failure)


def try_model(request: TrialRequest) -> ModelTrial:
    """The trial itself. Blocks, in a thread without an event loop. Raises what loading and embedding raise."""
    import numpy  # noqa: F401  what every server has loaded is not the model's

    before, begun = resident_bytes(), time.perf_counter()
    with closing(load_embedder(request.settings)) as embedder:
        prefixes, judged = prefixes_of(request.settings), request.judged
        _embed(embedder, [f"{prefixes.query}strongroom"])
        loaded = time.perf_counter()
        vectors = _embed(embedder, [prefixes.document + text for text in judged.texts])
        embedded = time.perf_counter()
        questions, seconds = [], []
        for question, _ in judged.questions or (("strongroom", 0),):
            asked = time.perf_counter()
            questions += _embed(embedder, [prefixes.query + question])
            seconds.append(time.perf_counter() - asked)
        return ModelTrial(
            width=embedder.identity.width,
            engine=str(getattr(embedder, "engine", request.settings.engine)),
            load_s=round(loaded - begun, 2),
            texts_per_s=round(len(judged.texts) / max(embedded - loaded, 1e-6), 1),
            query_ms=round(1000 * statistics.median(seconds[:TIMED_QUERIES]), 1),
            memory_mib=round(max(0, resident_bytes() - before) / _MIB, 1),
            quality=_judge(judged, vectors, questions) if judged.questions else None,
        )


def _embed(embedder: Embedder, texts: Sequence[str]) -> list[np.ndarray | None]:
    """In slices as the server's."""
    rows: list[np.ndarray | None] = [None] * len(texts)
    for places in split_into_batches([len(text) for text in texts], budget=BATCH_CHARACTERS, most=64):
        found = embed_rows(embedder.embed, [texts[place] for place in places], embedder.identity.width)
        for place, row in zip(places, found, strict=True):
            rows[place] = row
    return rows


def _judge(
    judged: JudgedTexts, vectors: Sequence[np.ndarray | None], questions: Sequence[np.ndarray | None]
) -> Quality:
    """By the best text of each item. A question or answer without a vector counts as not found."""
    places = [
        _find_place(judged, vectors, question, item)
        for question, (_, item) in zip(questions, judged.questions, strict=True)
    ]
    count = len(places)
    return Quality(
        questions=count,
        recall_at_1=round(sum(place == 1 for place in places) / count, 3),
        recall_at_10=round(sum(0 < place <= 10 for place in places) / count, 3),
        mrr=round(sum(1 / place for place in places if place) / count, 3),
    )


def _find_place(
    judged: JudgedTexts, vectors: Sequence[np.ndarray | None], question: np.ndarray | None, item: int
) -> int:
    """The place of an item among all; 0: none."""
    best: dict[int, float] = {}
    if question is not None:
        for owner, vector in zip(judged.items, vectors, strict=True):
            if vector is not None:
                best[owner] = max(best.get(owner, -2.0), float(vector @ question))
    own = best.get(item)
    # Equal ones stand before it: a model that gives everything the same vector finds nothing.
    return 0 if own is None else sum(score >= own for score in best.values())


def resident_bytes() -> int:
    """Bytes of this process that are in memory; where only the most there ever were is known, those."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
