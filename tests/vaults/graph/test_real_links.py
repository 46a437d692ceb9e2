"""Real notes against a table of their links made by an independent parser; skipped where they are not beside us."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests import noted
from tests.conftest import Asking, Opening, asker
from vaults.db.sql import Reader, Row
from vaults.graph.links import link_index

DATA = Path(__file__).resolve().parents[4] / "shared/vaults/silverbullet-docs"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real notes are not here")


def _table() -> list[list[str]]:
    lines = (DATA / "links.tsv").read_text(encoding="utf-8").split("\n")[1:]
    return [line.split("\t") for line in lines if line]


async def _all_pages(ask: Asking, main: str, **arguments: object) -> list[dict[str, object]]:
    found, cursor = [], None
    while True:
        more = {"cursor": cursor} if cursor else {}
        answer = (await ask("graph", limit=500, max_tokens=100_000, **arguments, **more)).content
        found += answer[main]
        cursor = answer.get("cursor")
        if not cursor:
            return found


async def test_links_backlinks_orphans_and_dead_ends_are_those_of_the_table(opening: Opening) -> None:
    table = _table()
    async with opening() as services:
        root = noted.folder(services.data)
        shutil.copytree(DATA / "notes", root, dirs_exist_ok=True)
        paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.md"))
        await noted.indexed(services, len(paths))
        ask = asker(services)

        def links(tx: Reader) -> list[Row]:
            return tx.all(
                "SELECT s.path, CAST(l.line AS TEXT), COALESCE(t.path, ''), l.target, l.heading, l.alias,"
                " CAST(l.embed AS TEXT) FROM note_links l JOIN notes s ON s.seq = l.note"
                " LEFT JOIN notes t ON t.seq = l.meant WHERE l.kind <> 'markdown'"
            )

        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert Counter(await vault.db.read(links)) == Counter(tuple(row) for row in table)
            numbers = dict(await vault.db.read(lambda tx: tx.all("SELECT path, seq FROM notes")))
            named = defaultdict(Counter)
            for source, line, target, page, *_ in table:
                named[target][source, int(line), page] += page != ""
            for path in paths:
                rows = await vault.db.read(lambda tx, path=path: link_index.read_backlinks(tx, numbers[path]))
                found = Counter((row.source, row.line, row.target) for row in rows if row.kind != "markdown")
                assert found == +named[path], path

        into, out = defaultdict(set), defaultdict(set)
        for source, _, target, *_ in table:
            if target and target != source:
                into[target].add(source)
                out[source].add(target)
        shapes = {
            "orphans": {path for path in paths if not into[path]},
            "dead_ends": {path for path in paths if into[path] and not out[path]},
            "sources": {path for path in paths if not into[path] and out[path]},
        }
        assert len(shapes["orphans"]) == 24
        for analysis, expected in shapes.items():
            nodes = await _all_pages(ask, "nodes", action="analyse", analysis=analysis)
            assert {node["path"] for node in nodes} == expected, analysis
        for path in ("Object Index.md", "CHANGELOG.md", "Space Lua.md"):
            shown = await _all_pages(ask, "links", path=path)
            assert {(link["source"], link["line"]) for link in shown} == {
                (source, int(line)) for source, line, target, *_ in table if target == path != source
            }
            leads = await _all_pages(ask, "links", action="forward_links", path=path)
            assert Counter(
                (link["line"], link.get("target", ""), link.get("as_written", "")) for link in leads
            ) == Counter((int(line), target, page) for source, line, target, page, *_ in table if source == path)
