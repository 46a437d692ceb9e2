"""What relevance is calibrated and judged by: the evidence for the first hits of a question, asked of a vault that
answers it or of one that cannot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.quality.sets import LEFT_OUT, JudgedSet
from vaults.search.relevance_scores import RelevanceEvidence

OWN, OTHER_PERSON = "own", "adversarial"
"""Kinds of questions: of the vault that answers them; of the right conversation, about the wrong person."""


@dataclass(frozen=True, slots=True)
class AskedVault:
    """A question and a vault. ``judged``: the set the vault is made of; ``kind``: where the question is from, ``own``
    if this vault answers it; ``few``: how many texts a made-up small vault holds, 0 for the whole; ``hits``: the
    evidence for the first ones, best first."""

    judged: str
    kind: str
    mode: str
    few: int
    text: str
    hits: tuple[RelevanceEvidence, ...]

    @property
    def answerable(self) -> bool:
        """Whether the vault holds what answers."""
        return self.kind == OWN


def read_adversarial(judged: JudgedSet, vault: str) -> Iterator[str]:
    """Questions whose premise is about the wrong person, of the conversation in ``vault``."""
    for line in (judged.folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["category"] == LEFT_OUT and str(row["group"]).lower() == vault:
            yield str(row["text"])


def write_rows(path: Path, rows: Iterable[AskedVault]) -> None:
    """One JSON object a line. They hold questions of the sets: they belong into no repository."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


def read_rows(paths: Sequence[Path]) -> list[AskedVault]:
    """The rows of several files."""
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [AskedVault(**{**row, "hits": tuple(RelevanceEvidence(**hit) for hit in row["hits"])}) for row in lines]


def area_under_curve(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """AUROC: how often a question that can be answered scores above one that cannot, ties by half (Mann-Whitney)."""
    import numpy as np

    high, low = np.sort(np.asarray(answerable)), np.asarray(unanswerable)
    above = len(high) - np.searchsorted(high, low, side="right")
    level = np.searchsorted(high, low, side="right") - np.searchsorted(high, low, side="left")
    return float((above + level / 2).sum() / (len(high) * len(low)))
