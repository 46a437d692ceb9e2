"""Versions in the journal: each comes out byte for byte as it went in, as long as a change names it, and no longer."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.blanks import empty_tables
from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import examples
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import journal, version_store
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.version_store import (
    LONG_BYTES,
    MAX_DEPTH,
    PackedVersion,
    VersionForgotten,
    to_version_name,
)
from vaults.settings import NotesSettings

ACTOR = Actor("tester", "tester")


@pytest.fixture
def tx() -> Writer:
    return empty_tables()


def noise(size: int, seed: int = 0) -> bytes:
    """Bytes that do not compress."""
    return random.Random(seed).randbytes(size)


def keep(tx: Writer, before: bytes | None, after: bytes | None, kept: dict[str, int] | None = None) -> None:
    """Record a change of one file; ``kept``: what is remembered of versions kept."""
    held = {} if kept is None else kept
    change = NoteChange("note_edit", "edited", [FileChange("log.md", before, after)])
    names = journal.name_versions(change)
    try:
        begun = journal.begin_change(tx, ACTOR, change, names, journal.pack_versions(change, names, held))
    except VersionForgotten:
        tx.run("DELETE FROM note_changes WHERE state = 'pending'")  # as a transaction that raises
        begun = journal.begin_change(tx, ACTOR, change, names, journal.pack_versions(change, names, {}))
    held.update(begun.kept)
    journal.finish_change(tx, begun.seq, git_owed=False)


def longest(tx: Writer) -> int:
    """Steps it takes to read whichever version takes most."""
    bases: dict[str, str | None] = dict(tx.all("SELECT hash, base FROM note_versions"))
    most = 0
    for base in bases.values():
        count, name = 0, base
        while name is not None:
            count, name = count + 1, bases[name]
        most = max(most, count)
    return most


EDIT = st.tuples(st.floats(0, 1), st.integers(0, 3000), st.binary(max_size=200))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from([0, 100, LONG_BYTES - 1, LONG_BYTES, 3 * LONG_BYTES]),
    st.lists(EDIT, max_size=12),
    st.sampled_from(["remembers", "forgets", "wrong"]),
)
def test_every_version_comes_out_as_it_went_in(size: int, edits: list[tuple[float, int, bytes]], memory: str) -> None:
    """Also where one process forgets what it has kept, and where it believes in what is not there."""
    tx = empty_tables()
    texts, kept = [noise(size)], dict[str, int]()
    for where, taken, put in edits:
        before = texts[-1]
        first = int(where * len(before))
        texts.append(before[:first] + put + before[first + taken :])
        if memory == "forgets":
            kept.clear()
        if memory == "wrong":
            kept.update({str(to_version_name(before)): 0, str(to_version_name(texts[-1])): 3})
        keep(tx, before, texts[-1], kept)
    for text in texts if edits else ():
        assert version_store.read_version(tx, to_version_name(text)) == text
    assert version_store.count_damaged(tx) == 0


@pytest.mark.parametrize("cut", [0, 1, 5])
@given(st.text(alphabet="ab", max_size=12), st.text(alphabet="ab", max_size=12))
def test_what_two_begin_and_end_with_alike_does_not_overlap(cut: int, one: str, other: str) -> None:
    before, after = one.encode(), (one[:cut] + other + one[cut:]).encode()
    first, last = version_store._common_ends(before, after)
    assert first + last <= min(len(before), len(after))
    assert before[:first] == after[:first]
    assert before[len(before) - last :] == after[len(after) - last :]
    assert after[: first + 1] != before[: first + 1] or first + last == min(len(before), len(after))


def edits_of(count: int, size: int = 2 * LONG_BYTES) -> list[bytes]:
    """A long note that grows by a line at a time."""
    start = noise(size)
    return [start + b"".join(b"- line %d\n" % line for line in range(number)) for number in range(count)]


@pytest.mark.parametrize("forgets_every", [0, 1, 7], ids=["remembers", "forgets", "now and then"])
def test_reading_a_version_takes_a_bounded_number_of_steps(tx: Writer, forgets_every: int) -> None:
    """However often a process starts anew, or writes so much else that it forgets what it had kept."""
    texts, kept = edits_of(3 * MAX_DEPTH), dict[str, int]()
    for number, (before, after) in enumerate(pairwise(texts)):
        if forgets_every and number % forgets_every == 0:
            kept.clear()
        keep(tx, before, after, kept)
    assert longest(tx) <= MAX_DEPTH
    assert version_store.read_version(tx, to_version_name(texts[0])) == texts[0]
    assert version_store.read_version(tx, to_version_name(texts[-1])) == texts[-1]
    assert version_store.total_size(tx) < 6 * len(texts[0])  # and they are kept as differences


def test_two_processes_that_take_turns_keep_rows_short(tx: Writer) -> None:
    texts = edits_of(3 * MAX_DEPTH)
    memories: list[dict[str, int]] = [{}, {}]
    for number, (before, after) in enumerate(pairwise(texts)):
        keep(tx, before, after, memories[number % 2])
    assert longest(tx) <= MAX_DEPTH
    assert all(version_store.read_version(tx, to_version_name(text)) == text for text in texts[::8])


def test_a_process_that_is_wrong_about_what_is_kept_makes_no_row_longer(tx: Writer) -> None:
    texts = edits_of(3 * MAX_DEPTH)
    for before, after in pairwise(texts):
        keep(tx, before, after, {str(to_version_name(before)): 0})
    assert longest(tx) <= MAX_DEPTH


def test_what_differs_much_or_is_short_is_kept_whole(tx: Writer) -> None:
    whole = noise(LONG_BYTES)
    keep(tx, whole, noise(LONG_BYTES, 1) + whole[:100])
    keep(tx, b"short", b"short too")
    assert longest(tx) == 0


def test_a_version_whose_base_was_forgotten_is_packed_anew(tx: Writer) -> None:
    before, after = edits_of(2)
    names = [(to_version_name(before), to_version_name(after))]
    found = version_store.pack([(before, after)], names, {str(to_version_name(before)): 0})
    assert [each.base for each in found] == [to_version_name(before)]
    with pytest.raises(VersionForgotten):
        version_store.store_versions(tx, found, [str(to_version_name(after))])
    with pytest.raises(VersionForgotten):
        version_store.store_versions(tx, [], [str(to_version_name(after))])
    assert tx.value("SELECT COUNT(*) FROM note_versions") == 0


def test_pruning_keeps_what_the_changes_left_need(tx: Writer) -> None:
    texts, kept = edits_of(10), dict[str, int]()
    for before, after in pairwise(texts):
        keep(tx, before, after, kept)
    tx.run("DELETE FROM note_changes WHERE seq < ?", (tx.value("SELECT MAX(seq) FROM note_changes"),))
    version_store.delete_unreferenced(tx)
    for text in texts[-2:]:
        assert version_store.read_version(tx, to_version_name(text)) == text
    tx.run("DELETE FROM note_changes")
    version_store.delete_unreferenced(tx)
    assert tx.value("SELECT COUNT(*) FROM note_versions") == 0


def test_changes_over_what_is_kept_are_forgotten_oldest_first_and_never_one_that_is_begun(tx: Writer) -> None:
    limits = NotesSettings(versions=10)
    first = journal.begin_change(tx, ACTOR, _change(0), journal.name_versions(_change(0)), _packed(0))
    tx.run("UPDATE note_changes SET state = 'failed' WHERE seq = ?", (first.seq,))
    for number in range(1, journal.PRUNE_EVERY):
        keep(tx, b"%d" % number, b"%d" % (number + 1))
    tx.run("UPDATE note_changes SET state = 'pending' WHERE seq = ?", (first.seq,))
    journal.prune(tx, limits)
    left = [row[0] for row in tx.all("SELECT seq FROM note_changes ORDER BY seq")]
    assert left == [first.seq, *range(journal.PRUNE_EVERY - 9, journal.PRUNE_EVERY + 1)]
    assert version_store.read_version(tx, to_version_name(b"0")) == b"0"
    assert version_store.read_version(tx, to_version_name(b"20")) is None


def test_versions_over_their_megabytes_are_forgotten(tx: Writer) -> None:
    limits = NotesSettings(versions=5000, versions_mb=1)
    for number in range(journal.PRUNE_EVERY * 2):
        keep(tx, None, noise(20_000, number))
    assert version_store.total_size(tx) > 2 << 20
    journal.prune(tx, limits)
    assert version_store.total_size(tx) <= (1 << 20) + 20_000 * journal.PRUNE_EVERY
    assert version_store.read_version(tx, to_version_name(noise(20_000, journal.PRUNE_EVERY * 2 - 1))) is not None


def _change(number: int) -> NoteChange:
    return NoteChange("note_edit", "edited", [FileChange("log.md", b"%d" % number, b"%d" % (number + 1))])


def _packed(number: int) -> list[PackedVersion]:
    return journal.pack_versions(_change(number), journal.name_versions(_change(number)), {})


@pytest.mark.parametrize("of", ["whole", "difference"])
def test_flipped_bytes_are_found_and_never_given_out(tx: Writer, of: str) -> None:
    before, after = edits_of(2)
    keep(tx, before, after)
    text = before if of == "whole" else after
    name = to_version_name(text)
    data = bytes(tx.value("SELECT data FROM note_versions WHERE hash = ?", (name,)))
    places: Sequence[int] = range(len(data)) if len(data) < 200 else random.Random(1).sample(range(len(data)), 60)
    found = 0
    for place in places:
        wrong = bytearray(data)
        wrong[place] ^= 0x10
        tx.run("UPDATE note_versions SET data = ? WHERE hash = ?", (bytes(wrong), name))
        told = version_store.read_version(tx, name)
        assert told in (None, text), place
        assert version_store.count_damaged(tx) or told == text, place  # some bits say nothing
        found += version_store.count_damaged(tx)
    assert found > len(places) * 0.9
    tx.run("UPDATE note_versions SET data = ? WHERE hash = ?", (data, name))
    assert version_store.count_damaged(tx) == 0


def test_a_lost_base_and_cut_off_bytes_are_damage(tx: Writer) -> None:
    before, after = edits_of(2)
    keep(tx, before, after)
    tx.run("UPDATE note_versions SET data = substr(data, 1, 7) WHERE base IS NOT NULL")
    assert version_store.count_damaged(tx) == 1
    assert version_store.read_version(tx, to_version_name(after)) is None
    tx.run("DELETE FROM note_versions WHERE base IS NULL")
    assert version_store.count_damaged(tx) == 1


def test_no_version_has_no_bytes(tx: Writer) -> None:
    assert version_store.read_version(tx, None) is None
    assert version_store.read_version(tx, "0" * 32) is None


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening, {"notes.versions": 1}) as found:
        yield found


async def test_the_text_of_a_forgotten_edit_is_kept_again_when_it_comes_again(desk: Desk) -> None:
    await desk.put({"log.md": "# Log\n"})
    for number in range(70):
        await desk.done("note_write", path="log.md", content=f"# Log\n\nedit {number}\n", mode="overwrite")
    done = await desk.done("note_write", path="log.md", content="# Log\n\nedit 3\n", mode="overwrite")
    await desk.done("note_write", path="log.md", content="# Log\n\nlast\n", mode="overwrite")
    for text in ("# Log\n\nedit 3\n", "# Log\n\nedit 69\n"):
        assert (
            await desk.vault.db.read(partial(version_store.read_version, name=to_version_name(text.encode())))
            == text.encode()
        )
    await desk.done("history", action="undo", ref=(await desk.done("history", action="log"))["changes"][0]["id"])
    assert desk.text("log.md") == "# Log\n\nedit 3\n"
    assert done["changed"]
