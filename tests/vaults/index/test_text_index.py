"""Merging of full-text segments happens when a caller asks for it, in steps of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest

from tests.blanks import empty_tables
from vaults.db.sql import Writer
from vaults.index import text_index
from vaults.index.shelves import MAIN, SHELVES

PASSAGES, WORDS, AT_ONCE = 200, 800, 8
REMOVED = range(0, 12 * AT_ONCE, AT_ONCE)
"""Steps that leave fewer than sixteen segments at one level: those FTS5 merges whatever it is told."""

Merging = Callable[[Writer], AbstractContextManager[None]]


def body_of(seq: int) -> str:
    return " ".join(f"word{(seq * 31 + place) % 5_000}" for place in range(WORDS))


@pytest.fixture
def tx() -> Writer:
    found = empty_tables()
    for first in range(0, PASSAGES, AT_ONCE):
        found.run("BEGIN")
        for seq in range(first, first + AT_ONCE):
            row = {"seq": seq, "body": body_of(seq)}
            found.run("INSERT INTO passages_fts (rowid, title, body) VALUES (:seq, '', :body)", row)
        found.run("COMMIT")
    while text_index.merge_some(found, 64):
        pass
    return found


def remove(tx: Writer, first: int) -> None:
    statement = "INSERT INTO passages_fts (passages_fts, rowid, title, body) VALUES ('delete', :seq, '', :body)"
    tx.many(statement, [{"seq": seq, "body": body_of(seq)} for seq in range(first, first + AT_ONCE)])


def segments(tx: Writer) -> set[int]:
    return {segment for (segment,) in tx.all("SELECT DISTINCT segid FROM passages_fts_idx")}


def count_merged(tx: Writer, merging: Merging) -> int:
    """Segments that went while passages were removed, step by step."""
    gone = 0
    for first in REMOVED:
        before = segments(tx)
        tx.run("BEGIN")
        with merging(tx):
            remove(tx, first)
        tx.run("COMMIT")
        gone += len(before - segments(tx))
    return gone


def by_itself(_: Writer) -> AbstractContextManager[None]:
    return nullcontext()


def put_off(tx: Writer) -> AbstractContextManager[None]:
    return text_index.merges_put_off(tx, SHELVES)


def automerge(tx: Writer) -> int | None:
    found: int | None = tx.value("SELECT v FROM passages_fts_config WHERE k = 'automerge'")
    return found


def test_by_itself_fts5_merges_while_passages_are_removed(tx: Writer) -> None:
    assert count_merged(tx, by_itself) > 0


def test_merges_that_are_put_off_do_not_happen_while_passages_are_removed(tx: Writer) -> None:
    assert count_merged(tx, put_off) == 0
    assert automerge(tx) == text_index.AUTOMERGE


def test_a_removal_that_fails_leaves_merging_as_it_was(tx: Writer) -> None:
    def fail() -> None:
        with text_index.merges_put_off(tx, [MAIN]):
            remove(tx, 0)
            raise LookupError

    tx.run("BEGIN")
    with pytest.raises(LookupError):
        fail()
    tx.run("ROLLBACK")
    assert automerge(tx) is None
    assert count_merged(tx, by_itself) > 0


def test_what_was_put_off_is_merged_step_by_step(tx: Writer) -> None:
    count_merged(tx, put_off)
    there, steps = len(segments(tx)), 1
    while text_index.merge_some(tx, 4):
        steps += 1
    assert steps > 3
    assert len(segments(tx)) < there


def test_erasing_in_steps_leaves_one_segment_without_the_words_that_went(tx: Writer) -> None:
    count_merged(tx, put_off)
    step = 0
    while text_index.erase_traces_in_steps(tx, step, 4):
        step += 1
    assert step > 3
    assert len(segments(tx)) == 1
    left = range(REMOVED.stop, PASSAGES)
    assert text_index.count_rows(tx, "passages_fts", "word7") == sum("word7" in body_of(seq).split() for seq in left)
