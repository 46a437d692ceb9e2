"""What is deleted of a log: never what a moment that is to stay restorable needs, wherever deleting stops.

Covers ops.change_log.names.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ops.change_log.names import BaseName, LineListing, SegmentName, list_lines, log_key, to_milliseconds, to_moment
from ops.change_log.retention import find_expired

VAULT = "v-1"


@st.composite
def listings(draw: st.DrawFn) -> list[str]:
    """Keys of a log: lines with bases and segments, time going on."""
    keys, at, sequence = [], 1000, 1
    for line in range(1, draw(st.integers(1, 4)) + 1):
        folder = f"{log_key(VAULT)}/{line:06d}-{line:08x}"
        keys.append(f"{folder}/line.json")
        number = 0
        for step in draw(st.lists(st.sampled_from(["base", "segment", "partial"]), max_size=8)):
            at, sequence = at + draw(st.integers(0, 50)), sequence + 1
            if step == "segment":
                keys.append(f"{folder}/{SegmentName(number, sequence, at)}")
                number += 1
            else:
                keys.append(f"{folder}/{BaseName(sequence, at)}/000000")
                keys += [f"{folder}/{BaseName(sequence, at)}/base.json"] if step == "base" else []
    return keys


def restorable(lines: list[LineListing], after: int) -> set[tuple[str, int]]:
    """Line and sequence number of every moment after ``after`` that can be restored."""
    found = set()
    for line in lines:
        for base in line.bases:
            if base.time > after:
                found.add((line.name, base.sequence))
        for segment in line.segments:
            held = [each for each in line.segments if segment.number >= each.number]
            start = max((each for each in line.bases if each.sequence <= segment.last), default=None)
            needed = [each for each in held if start is not None and each.last > start.sequence]
            numbers = [each.number for each in needed]
            is_whole = start is not None and numbers == list(
                range(segment.number + 1 - len(numbers), segment.number + 1)
            )
            if is_whole and segment.ended > after:
                found.add((line.name, segment.last))
    return found


@given(listings(), st.integers(900, 2000), st.integers(0, 100))
def test_what_is_young_stays_restorable_wherever_deleting_stops(keys: list[str], before: int, stop: int) -> None:
    lines = list_lines(keys, VAULT)
    expired = find_expired(lines, VAULT, before)
    assert set(expired) <= set(keys)
    assert len(expired) == len(set(expired))
    gone = set(expired[:stop])
    left = list_lines([key for key in keys if key not in gone], VAULT)
    assert restorable(left, before) >= restorable(lines, before)


def test_what_is_old_goes_and_the_base_before_the_bound_stays() -> None:
    folder = f"{log_key(VAULT)}/000001-00000001"
    old, kept = BaseName(1, 100), BaseName(5, 200)
    keys = [
        f"{folder}/line.json",
        f"{folder}/{old}/000000",
        f"{folder}/{old}/base.json",
        f"{folder}/{SegmentName(0, 5, 190)}",
        f"{folder}/{kept}/000000",
        f"{folder}/{kept}/base.json",
        f"{folder}/{SegmentName(1, 9, 300)}",
    ]
    assert find_expired(list_lines(keys, VAULT), VAULT, 250) == [keys[2], keys[1], keys[3]]
    assert find_expired(list_lines(keys, VAULT), VAULT, 150) == []


def test_a_line_that_ended_before_the_bound_goes_whole() -> None:
    first, second = (f"{log_key(VAULT)}/00000{number}-0000000{number}" for number in (1, 2))
    keys = [
        f"{first}/line.json",
        f"{first}/{BaseName(1, 100)}/base.json",
        f"{first}/{SegmentName(0, 2, 110)}",
        f"{second}/line.json",
        f"{second}/{BaseName(3, 120)}/base.json",
    ]
    assert set(find_expired(list_lines(keys, VAULT), VAULT, 130)) == set(keys[:3])


def test_foreign_keys_are_passed_over() -> None:
    keys = [f"{log_key(VAULT)}/readme.txt", f"{log_key('other')}/000001-00000001/line.json", "vaults/v-1/chunks/a"]
    assert list_lines(keys, VAULT) == []


@given(st.integers(0, 4_000_000_000_000))
def test_times_come_back(moment: int) -> None:
    assert to_milliseconds(to_moment(moment)) == moment
