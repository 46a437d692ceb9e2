"""A damaged vault is built anew: nothing that was not so is presented as right, and what a source still has comes back.

Covers ops.salvage.found_rows, ops.salvage.harvesting, ops.salvage.rebuilt_database, ops.salvage.database_image,
ops.salvage.page_map, ops.salvage.table_trees, ops.salvage.index_trees, ops.salvage.tree_pages,
ops.salvage.lost_schema, ops.salvage.table_shapes, ops.salvage.content_proof, ops.salvage.leftovers,
ops.salvage.salvage_report.
"""

from __future__ import annotations

import random
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ops.salvage.exchange import DamagedFiles
from ops.salvage.harvesting import open_remains
from ops.salvage.salvage_report import SalvageReport
from tests import harmed_vault
from tests.blanks import blank_database
from tests.harmed_vault import PAGE, Bench, Harm
from vaults.db.engine import sqlite
from vaults.db.wal_frames import FRAME_HEADER_BYTES, HEADER_BYTES

SEEDS, MANY = 8, 400
"""Of each of six kinds of harm: some 50 here, and more than 2,300 in ``make crash``."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    scratch = tmp_path_factory.mktemp("harmed") / "scratch"
    return Bench(harmed_vault.whole_vault() / "vault.db", scratch, blank_database("vault"))


def test_of_a_sound_file_every_row_comes_back(bench: Bench) -> None:
    found = bench.harvest(lambda data: data)
    assert found.rows == bench.truth
    assert all(left.is_whole for left in found.tables.values())


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_row_is_presented_as_right_that_never_was(bench: Bench, seed: int) -> None:
    _look_at(bench, seed)


@pytest.mark.crash
@pytest.mark.parametrize("first", range(SEEDS, MANY, 20))
def test_no_row_of_many_more_is_presented_as_right_that_never_was(bench: Bench, first: int) -> None:
    for seed in range(first, min(first + 20, MANY)):
        _look_at(bench, seed)


@pytest.mark.parametrize("harmed", [b"XYZ", b"5.1", b"137"])
def test_a_row_whose_last_bytes_are_harmed_with_the_row_behind_it_is_not_believed(bench: Bench, harmed: bytes) -> None:
    """No hash is over the last field, and so few bytes are often text."""
    at = bench.leaf_with("memories", harmed_vault.HARMED)
    page = bench.data[at : at + PAGE]
    starts = sorted(int.from_bytes(page[n : n + 2]) for n in range(8, 8 + 2 * int.from_bytes(page[3:5]), 2))
    place = at + starts[1]

    def harm(data: bytearray) -> bytearray:
        data[place - 3 : place + 64] = harmed + b"\xff" * 64
        return data

    assert bench.data[:place].endswith(b"Z"), "a moment stands last"
    found = bench.harvest(harm)
    assert found.wrong == []
    assert found.report.of("memories").doubtful


def _look_at(bench: Bench, seed: int) -> None:
    for kind, harm in harmed_vault.harms(seed):
        found = bench.harvest(harm)
        assert found.wrong == [], (kind, seed)
        lost = {table for table, rows in bench.truth.items() if len(rows) > found.kept(table)}
        assert not any(found.report.of(table).is_whole for table in lost), f"{kind}: a loss is not told"
        for table in lost:
            gone = bench.truth[table].keys() - found.rows[table].keys()
            assert all(found.tables[table].may_have_held(number) for number in gone), f"{kind}: no backup would do"


def test_without_header_and_schema_the_tables_are_still_known(bench: Bench) -> None:
    def harm(data: bytearray) -> bytearray:
        for page in [0, *_schema_leaves(data)]:
            data[page * PAGE : (page + 1) * PAGE] = random.Random(page).randbytes(PAGE)
        return data

    assert bench.harvest(harm).rows == bench.truth


def _schema_leaves(data: bytearray) -> list[int]:
    entries = [data[PAGE + at * 5 : PAGE + at * 5 + 5] for at in range(PAGE // 5)]
    return [at + 2 for at, entry in enumerate(entries) if entry[0] == 5 and entry[1:] == (1).to_bytes(4)]


def _changed(bench: Bench, table: str, text: bytes, change: bytes) -> Harm:
    page = bench.leaf_with(table, text)

    def harm(data: bytearray) -> bytearray:
        at = data.index(text, page)
        data[at : at + len(change)] = change
        return data

    return harm


def test_a_memory_whose_text_was_changed_is_in_doubt(bench: Bench) -> None:
    found = bench.harvest(_changed(bench, "memories", b"memory 42 of the harbour", b"memory 43"))
    assert found.kept("memories") == len(bench.truth["memories"]) - 1
    assert found.report.of("memories").from_file == found.kept("memories")
    assert len(found.tables["memories"].doubted) == 1


def test_a_document_is_in_doubt_with_all_its_parts(bench: Bench) -> None:
    found = bench.harvest(_changed(bench, "document_parts", b"The lease of berth 1.", b"The lease of berth 2."))
    assert (found.kept("documents"), found.kept("document_parts")) == (2, 2)


def test_what_an_interior_page_led_to_is_found_without_it(bench: Bench) -> None:
    def harm(data: bytearray) -> bytearray:
        root = _page_above(data, bench.leaf_with("memories", b"memory 42 of the harbour"))
        data[root : root + PAGE] = bytes(PAGE)
        return data

    found = bench.harvest(harm)
    assert found.rows["memories"] == bench.truth["memories"]


def _page_above(data: bytearray, place: int) -> int:
    """Where the page above a leaf begins, as the pointer map has it."""
    leaf = place // PAGE + 1
    entry = data[PAGE + (leaf - 3) * 5 : PAGE + (leaf - 2) * 5]
    assert entry[0] == 5, "the leaf has a page above it"
    return (int.from_bytes(entry[1:]) - 1) * PAGE


def test_an_index_counts_what_a_lost_leaf_held(bench: Bench) -> None:
    def harm(data: bytearray) -> bytearray:
        page = bench.leaf_with("memories", b"memory 42 of the harbour")
        data[page : page + PAGE] = bytes(PAGE)
        return data

    found = bench.harvest(harm)
    left = found.tables["memories"]
    assert left.named is not None
    assert left.named.numbers == set(bench.truth["memories"])
    gone = set(bench.truth["memories"]) - set(found.rows["memories"])
    assert gone
    assert all(left.may_have_held(number) for number in gone)
    assert not left.may_have_held(max(bench.truth["memories"]) + 1), "the index is whole and does not speak of it"


def test_a_version_whose_successor_is_damaged_is_told_as_an_older_one(bench: Bench, tmp_path: Path) -> None:
    log = _log_of(bench, tmp_path, "UPDATE memories SET tier = 'cold' WHERE content LIKE '%memory 42 of the harbour%'")
    assert len(log) > 2 * (FRAME_HEADER_BYTES + PAGE), "something was changed, and something after it"

    whole = bench.harvest(lambda data: data, log)
    assert whole.report.of("memories").older == 0

    found = bench.harvest(lambda data: data, _with_noise_on_first_frame(log))
    assert found.report.of("memories").older > 0
    assert not found.report.of("memories").is_whole


def test_a_log_that_lost_its_last_commit_leaves_no_salvage_whole(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "vault.db").write_bytes(bench.data)
    log = _log_of(bench, tmp_path, "UPDATE memories SET tier = 'cold'")
    for data, expected in ((log, False), (_with_noise_on_first_frame(log), True)):
        (tmp_path / "vault.db-wal").write_bytes(data)
        report = SalvageReport("harbour", "now")
        with ExitStack() as held:
            open_remains(held, DamagedFiles(tmp_path / "vault.db", tmp_path / "vault.db-wal"), tmp_path, report)
        assert report.log_is_damaged == expected


def _log_of(bench: Bench, scratch: Path, statement: str) -> bytes:
    """The write-ahead log of one change to the whole file."""
    changed = scratch / "changed.db"
    changed.write_bytes(bench.data)
    with closing(sqlite.connect(changed, isolation_level=None)) as raw:
        raw.execute("PRAGMA wal_autocheckpoint = 0")
        raw.execute(statement)
        raw.execute("INSERT INTO vault_info VALUES ('later', '1')")
        return changed.with_name("changed.db-wal").read_bytes()


def _with_noise_on_first_frame(log: bytes) -> bytes:
    begin = HEADER_BYTES + FRAME_HEADER_BYTES
    return log[:begin] + bytes(PAGE) + log[begin + PAGE :]
