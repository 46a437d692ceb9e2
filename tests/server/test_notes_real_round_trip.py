"""Real notes changed through the tools and changed back: not one byte is another; skipped where they are not here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Opening, asker
from tests.noted import folder, indexed, put

NOTES = Path(__file__).resolve().parents[3] / "shared/vaults/silverbullet-docs/notes"
EVERY = 4
"""One in so many notes is here, and of these one in so many is changed: ``vaults/markdown`` reads each."""

pytestmark = pytest.mark.skipif(not NOTES.is_dir(), reason="the real notes are not here")


async def test_what_is_done_and_undone_leaves_the_bytes(opening: Opening, tmp_path: Path) -> None:
    files = {path.relative_to(NOTES).as_posix(): path.read_bytes() for path in sorted(NOTES.rglob("*.md"))[::EVERY]}
    root = folder(tmp_path)
    put(root, files)
    async with opening() as services:
        ask = asker(services)
        await indexed(services, len(files))
        for path in list(files)[::EVERY]:
            outline = (await ask("note_read", path=path, part="outline")).content["outline"]
            sections = [None, *([f"{'#' * outline[-1]['level']} {outline[-1]['text']}"] if outline else [])]
            for section in sections:
                done = await ask("note_edit", path=path, content="quite new words", section=section)
                if done.code == "invalid_argument" and section:  # several headings go by that name
                    continue
                assert done.ok, (path, section, done.text)
                assert b"quite new words" in (root / path).read_bytes()
                undone = await ask("history", action="undo", ref=done.content["change"])
                assert undone.ok, (path, undone.text)
                assert (root / path).read_bytes() == files[path], (path, section)
            done = await ask("frontmatter_update", path=path, set={"quite_new": ["a", 1]})
            assert done.ok, (path, done.text)
            assert (root / path).read_bytes() != files[path]
            assert (await ask("frontmatter_update", path=path, unset=["quite_new"])).ok
            assert (root / path).read_bytes() == files[path], path
            assert (await ask("note_edit", path=path, content="x", dry_run=True)).ok
            same = await ask("note_write", path=path, content=files[path].decode(), mode="overwrite")
            assert same.content["changed"] is (files[path][-1:] not in (b"\n", b"\r"))
            assert (root / path).read_bytes() in (files[path], files[path] + b"\n")
