"""Fits candidates into a budget: each part has its share, what one leaves goes to the others, best first. Pure.

Within a part nothing takes the place of something better: where a candidate does not fit it is shortened or left out,
and so are all that follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from vaults.domain.packs.pack import PackCandidate, PackPart
from vaults.search.snippets import make_snippet

SHARES_TOTAL = 2500
SHARES: dict[PackPart, int] = {"state": 600, "rules": 200, "brief": 1000, "memories": 800, "passages": 1280}
"""Tokens of each part out of ``SHARES_TOTAL``: 10 memories of 80, 4 passages of 320. Together they exceed it, as no
pack has all of them in full."""

MIN_TEXT_TOKENS = 30
"""Tokens of text below which a shortened item says nothing."""


TokenCounter = Callable[[PackCandidate], int]
"""Counts the tokens of a candidate as it stands in the pack."""


@dataclass(slots=True)
class _RemainingTokens:
    """A budget as it is used up."""

    left: int
    taken: dict[int, PackCandidate] = field(default_factory=dict)  # candidates by rank
    spent: dict[PackPart, int] = field(default_factory=dict)
    shut: set[PackPart] = field(default_factory=set)  # parts that take no more

    def take(self, candidate: PackCandidate, cost: int) -> None:
        self.left -= cost
        self.spent[candidate.part] = self.spent.get(candidate.part, 0) + cost
        self.taken[candidate.rank] = candidate


def fit_to_budget(
    candidates: Sequence[PackCandidate], room: int, count_tokens: TokenCounter
) -> tuple[list[PackCandidate], list[PackCandidate]]:
    """Those of ``candidates``, given by rank, that fit into ``room``, and the others; both by rank."""
    costs = {candidate.rank: count_tokens(candidate) for candidate in candidates}
    remaining = _RemainingTokens(max(0, room))
    for part, share in SHARES.items():
        _fill_share(
            remaining,
            [candidate for candidate in candidates if candidate.part == part],
            share * room // SHARES_TOTAL,
            costs.__getitem__,
        )
    for candidate in candidates:
        if candidate.rank not in remaining.taken and candidate.part not in remaining.shut:
            _take_shortened(remaining, candidate, costs[candidate.rank], count_tokens)
    kept = [remaining.taken[rank] for rank in sorted(remaining.taken)]
    return kept, [candidate for candidate in candidates if candidate.rank not in remaining.taken]


def _fill_share(
    remaining: _RemainingTokens, candidates: Sequence[PackCandidate], share: int, cost: Callable[[int], int]
) -> None:
    for candidate in candidates:
        needed = cost(candidate.rank)
        if needed > min(remaining.left, share - remaining.spent.get(candidate.part, 0)):
            if candidate.part == "state":
                continue  # its entries are unranked: a long one excludes no others
            return
        remaining.take(candidate, needed)


def _take_shortened(
    remaining: _RemainingTokens, candidate: PackCandidate, cost: int, count_tokens: TokenCounter
) -> None:
    if cost > remaining.left:
        shorter = shorten(candidate, cost - remaining.left, count_tokens)
        if candidate.part != "state":
            remaining.shut.add(candidate.part)
        if shorter is None:
            return
        candidate, cost = shorter, count_tokens(shorter)
        if cost > remaining.left:
            return
    remaining.take(candidate, cost)


def shorten(candidate: PackCandidate, over: int, count_tokens: TokenCounter) -> PackCandidate | None:
    """The candidate with at least ``over`` tokens less text, cut to where its words stand closest; None where nothing
    worth reading would be left."""
    text = candidate.item.text or ""
    if candidate.part in ("state", "links") or not text:
        return None
    bare = count_tokens(replace(candidate, item=replace(candidate.item, text="")))
    full = count_tokens(candidate) - bare
    wanted = full - over
    for slack in (0.95, 0.8, 0.6):
        length = int(len(text) * wanted / max(1, full) * slack)
        if wanted < MIN_TEXT_TOKENS or length < MIN_TEXT_TOKENS:
            return None
        cut = replace(
            candidate,
            item=replace(candidate.item, text=make_snippet(text, candidate.words, length)),
            whole=candidate.whole or full,
        )
        if count_tokens(cut) - bare <= wanted:
            return cut
    return None
