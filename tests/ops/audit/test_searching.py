"""Entries are found by who, what, when, about what and how it ended.

Covers ops.audit.searching, ops.audit.export_formats.
"""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path

import pytest

from ops.audit import chain_rows, export_formats, searching
from ops.audit.audit_log import AuditLog
from ops.audit.chain_files import file_of
from ops.audit.links import genesis, link
from ops.audit.searching import AuditQuery, export, search
from ops.audit.verification import verify
from ops.settings import AuditSettings
from tests.ops.audit.chains import STORAGE, VAULT, entry, opened, tamper
from vaults.db import database_files
from vaults.errors import IndexUnavailable

DAY = "2026-03-{:02}T10:00:00.000Z"


async def filled(data: Path) -> None:
    async with opened(data) as log:
        for n in range(1, 13):
            who, tool = ("ana", "bob", "cy")[n % 3], ("remember", "note_edit")[n % 2]
            await log.append(VAULT, entry(n, who, tool, DAY.format(n)))


async def found(data: Path, **query: object) -> list[int]:
    async with opened(data) as log:
        return [each.seq for each in await search(log, VAULT, AuditQuery(**query))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, list(range(12, 0, -1))),
        ({"subject": "bob"}, [10, 7, 4, 1]),
        ({"subject": "nobody"}, []),
        ({"tool": "note_edit"}, [11, 9, 7, 5, 3, 1]),
        ({"subject": "bob", "tool": "note_edit"}, [7, 1]),
        ({"since": "2026-03-10"}, [12, 11, 10]),
        ({"since": "2026-03-03", "until": "2026-03-05"}, [4, 3]),
        ({"subject": "bob", "since": "2026-03-04", "until": "2026-03-05"}, [4]),
        ({"target": "id-5"}, [5]),
        ({"target": "id-5", "subject": "ana"}, []),
        ({"outcome": "forbidden"}, []),
        ({"outcome": "ok", "limit": 2}, [12, 11]),
        ({"limit": 2, "before": 5}, [4, 3]),
        ({"limit": 2, "before": 1000}, [12, 11]),
        ({"before": 1}, []),
    ],
)
async def test_search(tmp_path: Path, query: dict[str, object], expected: list[int]) -> None:
    await filled(tmp_path)
    given = {name: DAY[:0] + _moment(value) if name in ("since", "until") else value for name, value in query.items()}
    assert await found(tmp_path, **given) == expected


def _moment(day: object) -> str:
    return f"{day}T00:00:00.000Z"


async def test_pages_are_read_until_enough_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "PAGE", 2)
    await filled(tmp_path)
    assert await found(tmp_path, subject="bob", tool="note_edit") == [7, 1]


async def test_where_indexes_cannot_be_written_it_still_finds(tmp_path: Path) -> None:
    await filled(tmp_path)
    async with opened(tmp_path) as log:
        log.settle = _do_nothing  # type: ignore[method-assign, assignment]
        assert [each.seq for each in await search(log, VAULT, AuditQuery(subject="bob"))] == [10, 7, 4, 1]


async def _do_nothing(_: str, __: float) -> None: ...


async def test_one_that_must_be_indexed_for_long_first_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(tmp_path)
    monkeypatch.setattr(chain_rows.index_more, "__defaults__", (2,))
    monkeypatch.setattr(searching, "MAX_LATE", 2)
    async with opened(tmp_path) as log:
        with pytest.raises(IndexUnavailable) as later:
            await search(log, VAULT, AuditQuery(subject="bob"), within_s=0)
        assert later.value.retryable
        assert [each.seq for each in await search(log, VAULT, AuditQuery(subject="bob"))] == [10, 7, 4, 1]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_pages_follow_each_other_though_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(searching, "PAGE", 2)
    async with opened(tmp_path) as log:
        for n, day in enumerate((5, 6, 7, 3, 4, 7, 8), 1):
            await log.append(VAULT, entry(n, at=DAY.format(day)))
            if n == 5:
                await log.settle(VAULT, 60)
        log.settle = _do_nothing  # type: ignore[method-assign, assignment]  # the last two are not indexed
        told: list[int] = []
        for _ in range(7):
            page = await search(log, VAULT, AuditQuery(subject="ana", limit=size, before=told[-1] if told else None))
            told += [each.seq for each in page]
    assert told == [7, 6, 3, 2, 1, 5, 4]


async def test_a_chain_there_is_not_has_nothing_and_is_not_begun(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        other = VAULT[:-1] + "2"
        assert await search(log, other, AuditQuery()) == []
        assert [each async for each in export(log, other, AuditQuery())] == []
        assert not file_of(tmp_path, other).exists()


async def test_what_lies_in_a_folder_that_cannot_be_written_is_searched_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path)
    files = {each: each.stat().st_mtime_ns for each in file_of(tmp_path, VAULT).parent.iterdir()}
    monkeypatch.setattr(database_files, "is_writable", lambda _: False)
    log = AuditLog(tmp_path, AuditSettings(), STORAGE)
    assert [each.seq for each in await search(log, VAULT, AuditQuery(subject="bob"))] == [10, 7, 4, 1]
    assert all(each.ok for each in await verify(log))
    await log.close()
    assert {each: each.stat().st_mtime_ns for each in file_of(tmp_path, VAULT).parent.iterdir()} == files


async def test_an_export_can_be_checked_alone(tmp_path: Path) -> None:
    await filled(tmp_path)
    file = tmp_path / "day.jsonl"
    async with opened(tmp_path) as log:
        with export_formats.open_private(file) as target:
            assert await export_formats.write_lines(export(log, VAULT, AuditQuery()), target) == 12
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = genesis(VAULT)
    for line in file.read_text().splitlines():
        body = line.partition(',"entry":')[2].removesuffix("}")
        before = link(before, body)
        assert json.loads(line)["hash"] == before.hex()


@pytest.mark.parametrize(
    ("subject", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("\n=1+1", "\\u000a=1+1"),
        ("\t@SUM(1)", "\\u0009@SUM(1)"),
        ("＝1+1", "'＝1+1"),
        ("a\r\nb,c\x1b[2J\u202e", "a\\u000d\\u000ab,c\\u001b[2J\\u202e"),
    ],
)
async def test_a_table_runs_no_formulas_and_steers_no_terminal(tmp_path: Path, subject: str, cell: str) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1, subject))
        target = io.StringIO()
        assert await export_formats.write_csv(export(log, VAULT, AuditQuery()), target) == 1
        (found,) = await search(log, VAULT, AuditQuery())
    (row,) = csv.DictReader(io.StringIO(target.getvalue()))
    assert (row["subject"], row["seq"], row["tool"]) == (cell, "1", "remember")
    assert export_formats.to_line(found).isprintable()
    assert json.loads(export_formats.to_line(found))["entry"]["subject"] == subject


FORGED = ("[]", "no JSON", '{"seq":2,"at":1,"outcome":"ok"}', '{"at":"","outcome":"ok","subject":["ana"]}', "[" * 9999)


@pytest.mark.parametrize("body", FORGED, ids=range(len(FORGED)))
async def test_an_entry_that_is_forged_is_left_to_the_check_and_hides_no_other(tmp_path: Path, body: str) -> None:
    await filled(tmp_path)
    tamper(tmp_path, lambda raw: raw.execute("UPDATE entries SET body = ? WHERE seq = 2", (body,)))
    async with opened(tmp_path) as log:
        assert [each.seq for each in await search(log, VAULT, AuditQuery(limit=100))] == [*range(12, 2, -1), 1]
        lines, table = io.StringIO(), io.StringIO()
        assert await export_formats.write_lines(export(log, VAULT, AuditQuery()), lines) == 12
        assert await export_formats.write_csv(export(log, VAULT, AuditQuery()), table) == 12
        (report,) = await verify(log, [VAULT])
        assert report.faults[0].seq == 2
    assert json.loads(lines.getvalue().splitlines()[1])["forged"] == body
    assert [row["kind"] for row in csv.DictReader(io.StringIO(table.getvalue()))][:3] == ["call", "forged", "call"]


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("")
    (tmp_path / "old").chmod(0o644)
    with export_formats.open_private(tmp_path / "old") as target:
        target.write("x")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o600
