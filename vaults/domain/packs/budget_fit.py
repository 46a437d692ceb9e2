"""Fits candidates into a budget: each part has its share, what one leaves goes to the others, best first. Pure.

Within a part nothing takes the place of something better: where a candidate does not fit it is shortened or left out,
and so are all that follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from vaults.domain.packs.pack import PackCandidate, PackPart
from vaults.search.snippets import make_snippet

SHARES_TOTAL = 2500
SHARES: dict[PackPart, int] = {"state": 600, "rules": 200, "brief": 1000, "memories": 800, "passages": 1280}
"""Tokens of each part out of ``SHARES_TOTAL``: 10 memories of 80, 4 passages of 320. Together they exceed it, as no
pack has all of them in full."""

MIN_TEXT_TOKENS = 30
"""Tokens of text below which a shortened item says nothing."""


class CandidateCost(Protocol):
    """Computes what candidates cost in one form."""

    def cost(self, piece: PackCandidate) -> int:
        """Tokens of a candidate as it stands in the pack."""


@dataclass(slots=True)
class _RemainingTokens:
    """A budget as it is used up."""

    left: int
    taken: dict[int, PackCandidate] = field(default_factory=dict)  # candidates by rank
    spent: dict[PackPart, int] = field(default_factory=dict)
    shut: set[PackPart] = field(default_factory=set)  # parts that take no more

    def take(self, piece: PackCandidate, cost: int) -> None:
        self.left -= cost
        self.spent[piece.part] = self.spent.get(piece.part, 0) + cost
        self.taken[piece.rank] = piece


def fit_to_budget(
    pieces: Sequence[PackCandidate], room: int, size: CandidateCost
) -> tuple[list[PackCandidate], list[PackCandidate]]:
    """Those of ``pieces``, given by rank, that fit into ``room``, and the others; both by rank."""
    costs = {piece.rank: size.cost(piece) for piece in pieces}
    space = _RemainingTokens(max(0, room))
    for part, share in SHARES.items():
        _fill_share(
            space, [piece for piece in pieces if piece.part == part], share * room // SHARES_TOTAL, costs.__getitem__
        )
    for piece in pieces:
        if piece.rank not in space.taken and piece.part not in space.shut:
            _take_shortened(space, piece, costs[piece.rank], size)
    kept = [space.taken[rank] for rank in sorted(space.taken)]
    return kept, [piece for piece in pieces if piece.rank not in space.taken]


def _fill_share(
    space: _RemainingTokens, pieces: Sequence[PackCandidate], share: int, cost: Callable[[int], int]
) -> None:
    for piece in pieces:
        needed = cost(piece.rank)
        if needed > min(space.left, share - space.spent.get(piece.part, 0)):
            if piece.part == "state":
                continue  # its entries are unranked: a long one excludes no others
            return
        space.take(piece, needed)


def _take_shortened(space: _RemainingTokens, piece: PackCandidate, cost: int, size: CandidateCost) -> None:
    if cost > space.left:
        shorter = shorten(piece, cost - space.left, size)
        if piece.part != "state":
            space.shut.add(piece.part)
        if shorter is None:
            return
        piece, cost = shorter, size.cost(shorter)
        if cost > space.left:
            return
    space.take(piece, cost)


def shorten(piece: PackCandidate, over: int, size: CandidateCost) -> PackCandidate | None:
    """The candidate with at least ``over`` tokens less text, cut to where its words stand closest; None where nothing
    worth reading would be left."""
    text = piece.evidence.text or ""
    if piece.part in ("state", "links") or not text:
        return None
    bare = size.cost(replace(piece, evidence=replace(piece.evidence, text="")))
    full = size.cost(piece) - bare
    wanted = full - over
    for slack in (0.95, 0.8, 0.6):
        length = int(len(text) * wanted / max(1, full) * slack)
        if wanted < MIN_TEXT_TOKENS or length < MIN_TEXT_TOKENS:
            return None
        cut = replace(
            piece,
            evidence=replace(piece.evidence, text=make_snippet(text, piece.words, length)),
            whole=piece.whole or full,
        )
        if size.cost(cut) - bare <= wanted:
            return cut
    return None
