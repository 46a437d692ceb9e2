"""What of the candidates may go into a pack, and in which order they are taken. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from vaults.domain.packs.pack import DroppedItem, PackCandidate
from vaults.domain.text.sanitize import LINE_LENGTH

SHINGLE_WORDS = 3
"""Words in a row that texts are compared by."""

SAME_SHARE = 0.6
"""Share of those of two texts together that both hold, from which they say the same; of their different words it is
asked before, which costs less."""

MIN_WORDS = 8
"""Words below which only equal texts are the same: one word in eight may be the one that counts."""

_WORD = re.compile(r"[^\W_]+")


def select_candidates(
    pieces: Sequence[PackCandidate], orphans: Collection[str]
) -> tuple[list[PackCandidate], list[DroppedItem]]:
    """The pieces in the order in which they are taken, then what is left out for another reason than want of room:
    memories of a commit that is not part of the history asked about, and what repeats something better placed. What
    gives its reader orders comes last."""
    left: list[DroppedItem] = []
    sound: list[PackCandidate] = []
    for piece in pieces:
        if piece.anchor is not None and piece.anchor in orphans:
            left.append(to_dropped(piece, "orphan"))
        else:
            sound.append(piece)
    placed = sorted(sound, key=lambda piece: (piece.suspect, piece.rank))
    kept, repeated = _split_duplicates(placed)
    return [replace(piece, rank=rank) for rank, piece in enumerate(kept)], [*left, *repeated]


def to_dropped(piece: PackCandidate, why: str, of: str | None = None) -> DroppedItem:
    """A piece as something that is not in the pack."""
    return DroppedItem(piece.evidence.id, piece.evidence.kind, why, bounded_title(piece), of)


def bounded_title(piece: PackCandidate) -> str | None:
    """The title of a piece, bounded: that of an entry of the state may be long."""
    return piece.evidence.title[:LINE_LENGTH] if piece.evidence.title is not None else None


def _split_duplicates(pieces: Sequence[PackCandidate]) -> tuple[list[PackCandidate], list[DroppedItem]]:
    kept: list[PackCandidate] = []
    left: list[DroppedItem] = []
    texts = SeenTexts()
    for piece in pieces:
        same = texts.find_same(piece.evidence.text or "") if piece.part in _COMPARED_PARTS else None
        if same is None:
            kept.append(piece)
            if piece.part in _COMPARED_PARTS:
                texts.add(piece.evidence.id, piece.evidence.text or "")
        else:
            left.append(to_dropped(piece, "duplicate", same))
    return kept, left


_COMPARED_PARTS = ("rules", "memories", "passages")


class SeenTexts:
    """Texts that are in, found again by their words."""

    def __init__(self) -> None:
        self._equal: dict[tuple[str, ...], str] = {}
        self._long: list[tuple[str, tuple[str, ...], frozenset[str]]] = []

    def add(self, name: str, text: str) -> None:
        words = _words(text)
        self._equal.setdefault(words, name)
        if len(words) >= MIN_WORDS:
            self._long.append((name, words, frozenset(words)))

    def find_same(self, text: str) -> str | None:
        """The name of a text that says the same."""
        words = _words(text)
        if not words or words in self._equal:
            return self._equal.get(words)
        if len(words) < MIN_WORDS:
            return None
        different = frozenset(words)
        least = SAME_SHARE * len(different)
        for name, others, held in self._long:
            if least <= len(held) <= len(different) / SAME_SHARE:
                common = len(different & held)
                if common >= SAME_SHARE * (len(different) + len(held) - common) and _is_alike(words, others):
                    return name
        return None


def _is_alike(words: Sequence[str], others: Sequence[str]) -> bool:
    mine, theirs = _shingles(words), _shingles(others)
    return len(mine & theirs) >= SAME_SHARE * len(mine | theirs)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False))
