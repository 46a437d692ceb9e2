"""A batch is indexed together, and the next one is read meanwhile: the vault is as if its lines had come one by one.

Covers vaults.domain.import_export.source_import, vaults.domain.import_export.memory_lines, vaults.index.passages.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.importing import import_jsonl
from tests.work import PATIENCE_S
from vaults.domain.actors import Actor
from vaults.domain.import_export import source_import
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.row_writer import STORED_MEMORY, LineOutcome
from vaults.domain.import_export.source_import import ImportPlan, import_source
from vaults.domain.maintenance import verification
from vaults.index import passages
from vaults.sources.source import Source, SourceReading, SourceRecord
from vaults.vault import Vault

OWNER = Actor("owner", "owner")


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


def mixed_lines(count: int) -> list[dict[str, Any]]:
    """Memories of every form in between each other, some of which change those before them."""
    lines: list[dict[str, Any]] = []
    for n in range(count):
        line: dict[str, Any] = {"external_id": f"m{n}", "content": f"heronword{n} stands", "tags": [f"t{n % 3}"]}
        forms: list[dict[str, Any]] = [
            {}, {"visibility": "private"}, {"supersedes": f"m{n - 1}"}, {"archived_at": "2026-01-02T00:00:00Z"},
            {"parent": "talk", "position": n}, {"content": f"longword{n} " * 400}, {"metadata": {"depth": n}},
            {"updated_at": "2026-01-03T00:00:00Z", "created_at": "2026-01-01T00:00:00Z"},
            {"content": f"\u6771\u4eac{n}"}, {"links": [[f"m{n}", "after", "m0"]]},
        ]  # fmt: skip
        lines.append(line | forms[n % len(forms)])
    return lines


@pytest.mark.parametrize("count", [1, 5, 20, 150])
async def test_what_came_together_is_found_as_if_it_had_come_alone(
    vault: Vault, ask: Asking, tmp_path: Path, count: int
) -> None:
    lines = mixed_lines(count)
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tally = await import_jsonl(vault, OWNER, path)
    assert (tally.stored, tally.rejected) == (count, 0)
    report = await verification.verify(vault)
    assert report.findings == []
    for n in range(0, count, 10):
        assert (await ask("recall", query=f"heronword{n}", mode="keyword")).content["hits"][0]["external_id"] == f"m{n}"
    again = await import_jsonl(vault, OWNER, path)
    assert (again.stored, again.known) == (0, count)


async def test_a_batch_takes_few_statements(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    really = passages._insert_of
    monkeypatch.setattr(passages, "_insert_of", lambda rows: (sizes.append(rows), really(rows))[1])
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"content": f"tern {n}"}) + "\n" for n in range(256)))
    await import_jsonl(vault, OWNER, path)
    assert sizes == [256]


def source_of(read: Sequence[threading.Event]) -> Source:
    """A source that tells which of its records were read."""

    def items() -> Iterator[SourceRecord]:
        for n, event in enumerate(read):
            event.set()
            yield SourceRecord(n, {"content": f"rail {n}"}, n)

    @contextmanager
    def opened(_: Path) -> Iterator[SourceReading]:
        yield SourceReading(len(read), items())

    return Source("rails", "rails", "made up", lambda _: (), opened)


async def test_while_a_batch_is_stored_the_next_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_import, "BATCH_LINES", 4)
    read = [threading.Event() for _ in range(10)]
    numbers: list[int] = []

    async def push(lines: Sequence[NumberedLine]) -> list[LineOutcome]:
        numbers.extend(line.number for line in lines)
        last = min(10, len(numbers) + 4) - 1  # of the next batch
        assert await asyncio.to_thread(read[last].wait, PATIENCE_S)
        assert sum(each.is_set() for each in read) == last + 1  # and no further
        return [STORED_MEMORY] * len(lines)

    tally = await import_source(ImportPlan(source_of(read), tmp_path / "rails"), push)
    assert (tally.stored, numbers) == (10, list(range(1, 11)))


async def test_a_push_that_fails_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_import, "BATCH_LINES", 2)
    read = [threading.Event() for _ in range(100)]

    async def push(_: Sequence[NumberedLine]) -> list[LineOutcome]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await import_source(ImportPlan(source_of(read), tmp_path / "rails"), push)
    assert sum(each.is_set() for each in read) <= 4
