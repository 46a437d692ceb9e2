"""What goes by a limit of storage goes from the vault alone: files on a disk stay as they are."""

from __future__ import annotations

import pytest

from tests.conftest import Opening, asker
from tests.vaults.domain.maintenance.test_eviction import limited, names, stored
from vaults.domain.maintenance import eviction


async def test_eviction_touches_neither_session_files_nor_those_of_a_collection(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("srv")
    session, page = root / "storage" / "session.json", root / "docs" / "a.md"
    for path, text in ((session, '{"id": "ses_1"}'), (page, "# Harbour\n\nIt opens at nine.\n")):
        path.parent.mkdir()
        path.write_text(text)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (session, page)}
    async with limited(opening, max_size="1KB") as (vault, services):
        ask = asker(services)
        assert (await ask("collections", action="add", name="docs", root=str(page.parent), watch=False)).ok
        await stored(vault, "talk", 100, uri=session.as_uri())
        await stored(vault, "book", 100, "document")
        report = await eviction.evict(vault)
        assert report.went == {"transcript": 1, "document": 1}
        assert await names(vault) == ["Harbour"]
        assert (await ask("search", query="opens at nine", mode="keyword")).content["hits"]
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before
    assert sorted(each.name for each in root.rglob("*")) == ["a.md", "docs", "session.json", "storage"]
