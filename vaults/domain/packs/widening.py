"""Items of a pack as sections: neighbours become one item, and what is left of the budget widens the best. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vaults.domain.packs.pack import PackCandidate
from vaults.domain.retrieval.sections import (
    HitSection,
    NeighbourText,
    group_neighbours,
    join_neighbours,
    widen_text,
    widen_within,
)
from vaults.domain.text.sanitize import INSTRUCTIONS, sanitize

TokensOfCandidate = Callable[[PackCandidate], int]


@dataclass(frozen=True, slots=True)
class MergedCandidates:
    """Candidates by rank, and of those that stand in another one's text the id of that."""

    candidates: list[PackCandidate]
    joined: Mapping[str, str] = field(default_factory=dict)


def merge_candidates(kept: Sequence[PackCandidate]) -> MergedCandidates:
    """Parts of one section, or of one stretch of a conversation, as one candidate at the place of the best."""
    groups = group_neighbours([candidate.place for candidate in kept])
    several = [[kept[number] for number in group] for group in groups]
    joined = {other.item.id: group[0].item.id for group in several for other in group[1:]}
    return MergedCandidates([_merge(group) for group in several], joined)


def _merge(group: Sequence[PackCandidate]) -> PackCandidate:
    best = group[0]
    if len(group) == 1 or best.place is None:
        return best
    places = [each.place.position for each in group if each.place is not None]
    texts = [
        NeighbourText(position, each.item.author or each.item.type or "", each.item.text or "")
        for position, each in zip(places, group, strict=True)
    ]
    item = replace(
        best.item,
        text=join_neighbours(best.place.kind, texts),
        positions=sorted(places),
        flags=sorted({flag for each in group for flag in each.item.flags or ()}) or None,
    )
    return replace(best, item=item, section=_merge_sections(group))


def _merge_sections(group: Sequence[PackCandidate]) -> HitSection | None:
    """The section they share, with all that matched; None where what was read of it differs."""
    sections = [each.section for each in group if each.section is not None]
    if len(sections) < len(group) or len({each.text for each in sections}) > 1:
        return None
    return replace(sections[0], start=min(each.start for each in sections), end=max(each.end for each in sections))


def widen_candidates(kept: Sequence[PackCandidate], room: int, count_tokens: TokensOfCandidate) -> list[PackCandidate]:
    """The candidates with wider texts, best first, as far as ``room`` tokens for all of them allow."""
    if not any(candidate.section for candidate in kept):
        return list(kept)
    return widen_within(kept, room, count_tokens, _length_of, _to_section)


def _length_of(candidate: PackCandidate) -> int | None:
    return len(candidate.item.text or "") if candidate.section is not None else None


def _to_section(candidate: PackCandidate, length: int) -> PackCandidate | None:
    """The candidate with its section's text; None where that is no longer, or gives its reader orders that the match
    did not."""
    section, item = candidate.section, candidate.item
    text = widen_text(section, item.text or "", length) if section is not None else None
    if section is None or text is None:
        return None
    safe = sanitize(text)
    if INSTRUCTIONS in safe.flags and not candidate.suspect:
        return None
    flags = sorted({*safe.flags, *(item.flags or ())}) or None
    whole = 0 if text == section.text and item.kind == "memory" else candidate.whole
    return replace(candidate, item=replace(item, text=safe.text, flags=flags), whole=whole)
