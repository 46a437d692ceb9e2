"""Groups memories that say the same. Pure, and too costly for the event loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vaults.domain.memories.contradictions.statement_words import count_words, says_the_same


@dataclass(frozen=True, slots=True)
class ComparedMemory:
    """A memory as it is compared."""

    seq: int
    id: str
    text: str
    key: str | None  # equal for equal texts
    scope: str  # equal for memories that can stand in for each other
    times: int  # how often it was read
    vector: bytes | None


def group_duplicates(candidates: Sequence[ComparedMemory], near: float) -> list[list[ComparedMemory]]:
    """Groups of memories that say the same; in each, first the one read most, then the oldest. ``near`` is the cosine
    from which two are compared by their words."""
    leader = list(range(len(candidates)))

    def find_leader(number: int) -> int:
        while leader[number] != number:
            leader[number] = number = leader[leader[number]]
        return number

    for one, other in (*_find_equal_pairs(candidates), *_find_similar_pairs(candidates, near)):
        leader[find_leader(other)] = find_leader(one)
    found: dict[int, list[ComparedMemory]] = defaultdict(list)
    for number, each in enumerate(candidates):
        found[find_leader(number)].append(each)
    several = [sorted(group, key=lambda each: (-each.times, each.seq)) for group in found.values() if len(group) > 1]
    return sorted(several, key=lambda group: group[0].seq)


def _find_equal_pairs(candidates: Sequence[ComparedMemory]) -> Iterator[tuple[int, int]]:
    first: dict[tuple[str, str], int] = {}
    for number, each in enumerate(candidates):
        same = (each.scope, each.key or " ".join(each.text.split()).casefold())
        if first.setdefault(same, number) != number:
            yield first[same], number


def _find_similar_pairs(candidates: Sequence[ComparedMemory], near: float) -> Iterator[tuple[int, int]]:
    """Pairs within a scope whose vectors are near and whose words are nearly the same."""
    import numpy as np

    scopes: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(candidates):
        if each.vector is not None:
            scopes[each.scope].append(number)
    for numbers in scopes.values():
        rows = np.stack([np.frombuffer(candidates[number].vector or b"", dtype="<f4") for number in numbers])
        words = {}
        for one, other in zip(*np.nonzero(np.triu(rows @ rows.T >= near, 1)), strict=True):
            pair = numbers[int(one)], numbers[int(other)]
            for number in pair:
                if number not in words:
                    words[number] = count_words(candidates[number].text)
            if says_the_same(words[pair[0]], words[pair[1]]):
                yield pair
