"""How near a task is to the meaning of each tool's description. Without a model, or if it takes too long: nothing."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from server.tool_spec import ToolSpec
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, Overloaded

if TYPE_CHECKING:
    import numpy as np

MIN_WORDS, MIN_CHARACTERS = 2, 12
"""Min words, and min characters without blanks, of a task whose meaning can be compared."""

MIN_COSINE = 0.30
"""Min cosine of a tool that is near a task."""

WAIT_S = 2.0
"""Seconds an answer waits for the model."""

BATCH_SIZE = 16
"""Descriptions per model call: finished batches are kept when the time runs out."""

CACHE_SIZE = 512
"""Max vectors cached in a process: one per description text and model."""

MIN_PART_WORDS = 3
"""Min words of a part of a description that means something by itself."""

_PARTS = re.compile(r"(?<=[.:;])\s+")
_cache: OrderedDict[tuple[str, str], np.ndarray] = OrderedDict()


def is_comparable(task: str) -> bool:
    """Whether a task can be compared by meaning."""
    return len(task.split()) >= MIN_WORDS and len("".join(task.split())) >= MIN_CHARACTERS


async def find_near_tools(embedder: EmbeddingService, specs: Sequence[ToolSpec], task: str) -> Mapping[str, float]:
    """The cosine of each tool near the task, by name."""
    if not is_comparable(task) or embedder.state().status in ("off", "failed", "hung"):
        return {}
    try:
        async with asyncio.timeout(WAIT_S):
            asked = await embedder.query(task)
            model = (await embedder.warm()).key
            await _embed_missing(embedder, model, [text for spec in specs for text in texts_to_compare(spec)])
    except (TimeoutError, EmbeddingUnavailable, Overloaded):
        return {}
    found = {
        spec.name: max(_cosine(asked, _cache.get((model, text))) for text in texts_to_compare(spec)) for spec in specs
    }
    return {name: cosine for name, cosine in found.items() if cosine >= MIN_COSINE}


def texts_to_compare(spec: ToolSpec) -> list[str]:
    """The texts of a tool to compare with tasks: its description, and each part of it by itself, as a task is mostly
    about one of several things a tool does."""
    parts = [part for part in _PARTS.split(spec.description) if len(part.split()) >= MIN_PART_WORDS]
    return [f"{spec.name.replace('_', ' ')}: {spec.description}", *parts]


async def _embed_missing(embedder: EmbeddingService, model: str, texts: Sequence[str]) -> None:
    missing = [text for text in texts if (model, text) not in _cache]
    for start in range(0, len(missing), BATCH_SIZE):
        some = missing[start : start + BATCH_SIZE]
        rows = await embedder.texts(some, urgent=True)
        for text, row in zip(some, rows, strict=True):
            _cache[model, text] = row.copy()  # a view would keep its whole batch
    while len(_cache) > CACHE_SIZE:
        _cache.popitem(last=False)


def _cosine(one: np.ndarray, other: np.ndarray | None) -> float:
    if other is None or one.shape != other.shape:
        return 0.0
    import numpy as np

    length = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(np.dot(one, other)) / length if length else 0.0
