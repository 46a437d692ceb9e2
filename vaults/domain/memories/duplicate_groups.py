"""Groups memories that say the same. Pure, and too costly for the event loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class RepeatedMemory:
    """A memory that says what another says."""

    seq: int
    id: str


def group_duplicates(candidates: Sequence[ComparedMemory], near: float) -> list[list[RepeatedMemory]]:
    """Groups of memories that say the same, in no order. ``near`` is the cosine from which two are compared by their
    words."""
    leader = list(range(len(candidates)))

    def find_leader(number: int) -> int:
        while leader[number] != number:
            leader[number] = number = leader[leader[number]]
        return number

    for one, other in (*_find_equal_pairs(candidates), *_find_similar_pairs(candidates, near)):
        leader[find_leader(other)] = find_leader(one)
    found: dict[int, list[RepeatedMemory]] = defaultdict(list)
    for number, each in enumerate(candidates):
        found[find_leader(number)].append(RepeatedMemory(each.seq, each.id))
    return [group for group in found.values() if len(group) > 1]


def order_groups(groups: Sequence[Sequence[RepeatedMemory]], times: Mapping[int, int]) -> list[list[RepeatedMemory]]:
    """The groups, oldest first; in each, first the memory read most, then the oldest. ``times``: how often each was
    read, by its number."""
    ordered = [sorted(group, key=lambda each: (-times.get(each.seq, 0), each.seq)) for group in groups]
    return sorted(ordered, key=lambda group: group[0].seq)


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
