"""Hits as sections: neighbours become one hit, and what is left of the budget widens the best ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from vaults.context import run_in
from vaults.domain.memories import indexing
from vaults.domain.retrieval.search_hits import RankedHit
from vaults.domain.retrieval.section_reading import place_of, read_sections
from vaults.domain.retrieval.sections import (
    MIN_GAIN,
    HitSection,
    NeighbourText,
    group_neighbours,
    join_neighbours,
    widen_text,
    widen_within,
)
from vaults.index.traits import is_adversarial
from vaults.search import tokenizer
from vaults.vault import Vault

MAX_WIDENED = 2
"""Hits that are widened at most, the best ones."""

MAX_REFILLED = 20
"""Further hits at most that take the place merging gives back."""

TokensOfHit = Callable[[RankedHit], int]


async def merge_and_refill(
    pool: Executor, shown: Sequence[RankedHit], fits: int, room: int, count_tokens: TokensOfHit
) -> tuple[list[RankedHit], int]:
    """The first ``fits`` hits with neighbours merged, and further ones in the place this gives back; and how many of
    ``shown`` that are. Long ones are counted on a thread of ``pool``."""
    if tokenizer.is_quick_to_count(_texts_to_count(shown)):
        return _merge_and_refill(shown, fits, room, count_tokens)
    return await run_in(pool, _merge_and_refill, shown, fits, room, count_tokens)


def _texts_to_count(shown: Iterable[RankedHit]) -> Iterator[str]:
    """What may be long of a hit as it is sent: a note may have thousands of tags, and a heading of many lines."""
    for each in shown:
        yield each.hit.content or each.hit.snippet or ""
        yield each.hit.section or ""
        yield from each.hit.tags


def _merge_and_refill(
    shown: Sequence[RankedHit], fits: int, room: int, count_tokens: TokensOfHit
) -> tuple[list[RankedHit], int]:
    merged = merge_neighbours(shown[:fits], count_tokens)
    if len(merged) == fits:
        return merged, fits
    for more in range(fits + 1, min(len(shown), fits + MAX_REFILLED) + 1):
        longer = merge_neighbours(shown[:more], count_tokens)
        if sum(map(count_tokens, longer)) > room:
            break
        merged, fits = longer, more
    return merged, fits


def merge_neighbours(shown: Sequence[RankedHit], count_tokens: TokensOfHit) -> list[RankedHit]:
    """The hits in their order; those of one section, or of one stretch of a conversation, as one at the place of the
    best, unless that takes more tokens than they do apart: many short lines do, when they are indented."""
    merged: list[tuple[int, RankedHit]] = []
    for group in group_neighbours([place_of(each) for each in shown]):
        apart = [shown[number] for number in group]
        one = _merge(apart)
        if len(group) > 1 and count_tokens(one) > sum(map(count_tokens, apart)):
            merged += zip(group, apart, strict=True)
        else:
            merged.append((group[0], one))
    return [each for _, each in sorted(merged, key=lambda pair: pair[0])]


def _merge(group: Sequence[RankedHit]) -> RankedHit:
    best, *others = group
    if not others:
        return best
    texts = [
        NeighbourText(each.hit.position or 0, each.hit.author or each.hit.type, each.hit.snippet or "")
        for each in group
    ]
    hit = replace(
        best.hit,
        snippet=join_neighbours(best.item[0], texts),
        flags=sorted({flag for each in group for flag in each.hit.flags}),
    )
    return replace(best, hit=hit, also=tuple(others))


async def widen_best(
    vault: Vault, viewer: str, shown: Sequence[RankedHit], room: int, count_tokens: TokensOfHit
) -> list[RankedHit]:
    """The hits with wider texts, best first, as far as ``room`` tokens for all of them allow."""
    cut = [each for each in shown[:MAX_WIDENED] if each.hit.content is None]
    if not cut:
        return list(shown)
    sections = await vault.db.read(lambda tx: read_sections(tx, [(each, *each.also) for each in cut]))
    wider = {number: each for number, each in sections.items() if _is_wider(each, cut, number)}
    if not wider:
        return list(shown)
    if tokenizer.is_quick_to_count([*(each.text for each in wider.values()), *_texts_to_count(shown)]):
        widened = _widen(shown, wider, room, count_tokens)
    else:
        widened = await run_in(vault.shared.pool, _widen, shown, wider, room, count_tokens)
    _record_shown(vault, viewer, (new for new, old in zip(widened, shown, strict=True) if new is not old), wider)
    return widened


def _is_wider(section: HitSection, cut: Iterable[RankedHit], passage: int) -> bool:
    return any(each.passage == passage and len(section.text) >= len(each.hit.snippet or "") + MIN_GAIN for each in cut)


def _widen(
    shown: Sequence[RankedHit], sections: Mapping[int, HitSection], room: int, count_tokens: TokensOfHit
) -> list[RankedHit]:
    def length_of(each: RankedHit) -> int | None:
        return len(each.hit.snippet or "") if each.passage in sections else None

    def widen(each: RankedHit, length: int) -> RankedHit | None:
        return _to_section(each, sections[each.passage], length)

    return widen_within(shown, room, count_tokens, length_of, widen)


def _to_section(each: RankedHit, section: HitSection, length: int) -> RankedHit | None:
    """The hit with its section's text; None where that is no longer, or gives its reader orders that the match did
    not."""
    text = widen_text(section, each.hit.snippet or "", length)
    if text is None or (not each.hit.flags and is_adversarial(text)):
        return None
    return replace(each, hit=replace(each.hit, snippet=text))


def _record_shown(vault: Vault, viewer: str, widened: Iterable[RankedHit], sections: Mapping[int, HitSection]) -> None:
    """Remember what was shown, so that storing it again is seen as an echo; a memory shown whole counts as read."""
    for each in widened:
        text = each.hit.snippet or ""
        if each.item[0] != indexing.KIND:
            vault.shown_texts.note_paragraphs(viewer, text, each.hit.id)
            continue
        vault.shown_texts.note(viewer, [(text, each.hit.id)])
        if text == sections[each.passage].text:
            vault.access_counts.update([each.item[1]])
