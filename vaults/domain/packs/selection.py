"""What of the candidates may go into a pack, and in which order they are taken. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from vaults.domain.packs.pack import Left, Piece
from vaults.domain.text.sanitize import LINE

SHINGLE = 3
"""Words in a row that texts are compared by."""

ALIKE = 0.6
"""Share of those of two texts together that both hold, from which they say the same; of their different words it is
asked before, which costs less."""

FEW = 8
"""Words below which only equal texts are the same: one word in eight may be the one that counts."""

_WORD = re.compile(r"[^\W_]+")


def judge(pieces: Sequence[Piece], orphans: Collection[str]) -> tuple[list[Piece], list[Left]]:
    """The pieces in the order in which they are taken, then what is left out for another reason than want of room:
    memories of a commit that is not part of the history asked about, and what repeats something better placed. What
    gives its reader orders comes last."""
    left: list[Left] = []
    sound: list[Piece] = []
    for piece in pieces:
        if piece.anchor is not None and piece.anchor in orphans:
            left.append(left_out(piece, "orphan"))
        else:
            sound.append(piece)
    placed = sorted(sound, key=lambda piece: (piece.suspect, piece.rank))
    kept, repeated = _distinct(placed)
    return [replace(piece, rank=rank) for rank, piece in enumerate(kept)], [*left, *repeated]


def left_out(piece: Piece, why: str, of: str | None = None) -> Left:
    """A piece as something that is not in the pack."""
    return Left(piece.evidence.id, piece.evidence.kind, why, label(piece), of)


def label(piece: Piece) -> str | None:
    """The title of a piece, bounded: that of an entry of the state may be long."""
    return piece.evidence.title[:LINE] if piece.evidence.title is not None else None


def _distinct(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Left]]:
    kept: list[Piece] = []
    left: list[Left] = []
    texts = Texts()
    for piece in pieces:
        same = texts.same_as(piece.evidence.text or "") if piece.part in _COMPARED else None
        if same is None:
            kept.append(piece)
            if piece.part in _COMPARED:
                texts.add(piece.evidence.id, piece.evidence.text or "")
        else:
            left.append(left_out(piece, "duplicate", same))
    return kept, left


_COMPARED = ("rules", "memories", "passages")


class Texts:
    """Texts that are in, found again by their words."""

    def __init__(self) -> None:
        self._equal: dict[tuple[str, ...], str] = {}
        self._long: list[tuple[str, tuple[str, ...], frozenset[str]]] = []

    def add(self, name: str, text: str) -> None:
        words = _words(text)
        self._equal.setdefault(words, name)
        if len(words) >= FEW:
            self._long.append((name, words, frozenset(words)))

    def same_as(self, text: str) -> str | None:
        """The name of a text that says the same."""
        words = _words(text)
        if not words or words in self._equal:
            return self._equal.get(words)
        if len(words) < FEW:
            return None
        different = frozenset(words)
        least = ALIKE * len(different)
        for name, others, held in self._long:
            if least <= len(held) <= len(different) / ALIKE:
                common = len(different & held)
                if common >= ALIKE * (len(different) + len(held) - common) and _alike(words, others):
                    return name
        return None


def _alike(words: Sequence[str], others: Sequence[str]) -> bool:
    mine, theirs = _shingles(words), _shingles(others)
    return len(mine & theirs) >= ALIKE * len(mine | theirs)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(SHINGLE)), strict=False))
