"""Which candidates may go into a pack, and in which order they are taken. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from vaults.domain.packs.pack import DroppedItem, PackCandidate
from vaults.domain.text.sanitize import LINE_LENGTH

SHINGLE_WORDS = 3
"""Consecutive words that texts are compared by."""

SAME_SHARE = 0.6
"""Min share of common shingles among those of both texts for them to say the same. Their distinct words must pass it
first, which costs less to check."""

MIN_WORDS = 8
"""Words below which only equal texts are duplicates: one word in eight may be the one that counts."""

_WORD = re.compile(r"[^\W_]+")


def select_candidates(
    candidates: Sequence[PackCandidate], orphans: Collection[str]
) -> tuple[list[PackCandidate], list[DroppedItem]]:
    """The candidates in the order they are taken, then those excluded for other reasons than the budget: memories of a
    commit outside the history asked about, what is unlikely to answer, and repetitions of something better placed. What
    gives its reader orders comes last."""
    left: list[DroppedItem] = []
    sound: list[PackCandidate] = []
    for candidate in candidates:
        if candidate.anchor is not None and candidate.anchor in orphans:
            left.append(to_dropped(candidate, "orphan"))
        elif not candidate.likely:
            left.append(to_dropped(candidate, "unlikely"))
        else:
            sound.append(candidate)
    placed = sorted(sound, key=lambda candidate: (candidate.suspect, candidate.rank))
    kept, repeated = _split_duplicates(placed)
    return [replace(candidate, rank=rank) for rank, candidate in enumerate(kept)], [*left, *repeated]


def to_dropped(candidate: PackCandidate, why: str, of: str | None = None) -> DroppedItem:
    """A candidate as an item left out of the pack."""
    return DroppedItem(candidate.item.id, candidate.item.kind, why, bounded_title(candidate), of)


def bounded_title(candidate: PackCandidate) -> str | None:
    """The title, cut: that of an entry of the state may be long."""
    return candidate.item.title[:LINE_LENGTH] if candidate.item.title is not None else None


def _split_duplicates(candidates: Sequence[PackCandidate]) -> tuple[list[PackCandidate], list[DroppedItem]]:
    kept: list[PackCandidate] = []
    left: list[DroppedItem] = []
    texts = SeenTexts()
    for candidate in candidates:
        same = texts.find_same(candidate.item.text or "") if candidate.part in _COMPARED_PARTS else None
        if same is None:
            kept.append(candidate)
            if candidate.part in _COMPARED_PARTS:
                texts.add(candidate.item.id, candidate.item.text or "")
        else:
            left.append(to_dropped(candidate, "duplicate", same))
    return kept, left


_COMPARED_PARTS = ("rules", "memories", "passages")


class SeenTexts:
    """Texts taken so far, searchable by their words."""

    def __init__(self) -> None:
        self._equal: dict[tuple[str, ...], str] = {}
        self._long: list[tuple[str, tuple[str, ...], frozenset[str]]] = []

    def add(self, name: str, text: str) -> None:
        words = _words(text)
        self._equal.setdefault(words, name)
        if len(words) >= MIN_WORDS:
            self._long.append((name, words, frozenset(words)))

    def find_same(self, text: str) -> str | None:
        """The name of a text that says the same, if any."""
        words = _words(text)
        if not words or words in self._equal:
            return self._equal.get(words)
        if len(words) < MIN_WORDS:
            return None
        own = frozenset(words)
        least = SAME_SHARE * len(own)
        for name, others, distinct in self._long:
            if least <= len(distinct) <= len(own) / SAME_SHARE:
                common = len(own & distinct)
                if common >= SAME_SHARE * (len(own) + len(distinct) - common) and _is_alike(words, others):
                    return name
        return None


def _is_alike(words: Sequence[str], others: Sequence[str]) -> bool:
    mine, theirs = _shingles(words), _shingles(others)
    return len(mine & theirs) >= SAME_SHARE * len(mine | theirs)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False))
