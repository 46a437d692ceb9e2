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

from ops.audit import export_formats, searching
from ops.audit.entries import StoredEntry
from ops.audit.links import genesis, link
from ops.audit.searching import AuditQuery, export, search
from tests.ops.audit.chains import VAULT, entry, opened

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


async def _do_nothing(_: str) -> None: ...


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


async def test_a_table_runs_no_formulas(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1, "=HYPERLINK(1)"))
        target = io.StringIO()
        assert await export_formats.write_csv(export(log, VAULT, AuditQuery()), target) == 1
    (row,) = csv.DictReader(io.StringIO(target.getvalue()))
    assert (row["subject"], row["seq"], row["tool"]) == ("'=HYPERLINK(1)", "1", "remember")


async def test_an_entry_that_is_none_is_left_to_the_check(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        await log.append(VAULT, entry(1))
        broken = StoredEntry(2, 0, "[]", b"")
        assert list(searching._matching([broken], AuditQuery())) == []
