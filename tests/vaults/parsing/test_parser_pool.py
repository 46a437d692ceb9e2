"""Files read in worker processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from vaults.formats.parsed_document import ParseFailed
from vaults.parsing.parser_pool import ParserPool


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    pool = ParserPool()
    yield pool
    await pool.close()


async def test_a_file_is_read_by_a_worker_that_stays_for_the_next(pool: ParserPool, tmp_path: Path) -> None:
    parsed = await pool.parse(b"# Plan\n\nBuy bread.", "plan.md")
    assert [(part.heading, part.text) for part in parsed.parts] == [("Plan", "Buy bread.")]
    (tmp_path / "note.txt").write_text("From the disk.")
    parsed = await pool.parse_file(tmp_path / "note.txt", "note.txt")
    assert parsed.parts[0].text == "From the disk."
    assert pool.worker_count == 1


async def test_a_file_that_cannot_be_read_says_why(pool: ParserPool) -> None:
    with pytest.raises(ParseFailed) as refused:
        await pool.parse(b"\x01\0\x02", "noise")
    assert refused.value.problem == "unsupported"
