"""An editor that saves older text over a tool's edit is noticed; a person who changes a note is not blamed for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.domain.notes.commit import overwrites
from vaults.domain.notes.index import reconciliation

LOG = "# Log\n\n## Notes\n\n- first\n- second\n\n## End\n\nlast words\n"


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as found:
        await found.put({"log.md": LOG})
        yield found


async def _edit(desk: Desk, **more: Any) -> str:
    arguments = {"section": "Notes", "content": "an agent's words", "format": "bullet", **more}
    return str((await desk.done("note_edit", path="log.md", **arguments))["change"])


async def _saved(desk: Desk, text: str) -> None:
    """A program outside saves, and the index follows."""
    (desk.root / "log.md").write_text(text)
    await reconciliation.reconcile_paths(desk.vault, ["log.md"])
    await overwrites.detect_overwrites(desk.vault, ["log.md"])


async def _warnings(desk: Desk) -> list[str]:
    return list((await desk.done("note_read", path="log.md")).get("warnings", []))


async def _marked(desk: Desk) -> set[str]:
    rows = "SELECT c.id FROM note_changes c JOIN note_change_files f ON f.change = c.seq WHERE overwritten IS NOT NULL"
    return {row[0] for row in await desk.vault.db.read(lambda tx: tx.all(rows))}


@pytest.mark.parametrize("stale", [LOG, LOG + "typed meanwhile\n", LOG.replace("first", "first, better")])
async def test_older_text_saved_over_an_edit_is_told_to_readers_and_editors(desk: Desk, stale: str) -> None:
    change = await _edit(desk)
    await _saved(desk, stale)
    assert await _marked(desk) == {change}
    assert any(change in each for each in await _warnings(desk))
    edited = await desk.done("note_edit", path="log.md", content="more")
    assert any(change in each for each in edited["warnings"])


async def test_what_was_written_over_can_be_had_again(desk: Desk) -> None:
    await _edit(desk)
    written = desk.text("log.md")
    change = await _edit(desk, content="further words")
    await _saved(desk, written)
    assert await _marked(desk) == {change}
    shown = await desk.done("history", action="diff", ref=change)
    assert "further words" in str(shown)


@pytest.mark.parametrize(
    "saved",
    [
        lambda text: text.replace("last words", "other words"),
        lambda text: text + "\nmore\n",
        lambda text: text.replace("- first\n", ""),
        lambda text: text.replace("- an agent's words", "  - an agent's words"),
        lambda text: text.replace("\n", "\r\n"),
    ],
    ids=["elsewhere", "below", "beside", "indented", "line ends"],
)
async def test_an_edit_that_is_still_there_was_not_written_over(desk: Desk, saved: Any) -> None:
    await _edit(desk)
    await _saved(desk, saved(desk.text("log.md")))
    assert await _marked(desk) == set()
    assert await _warnings(desk) == []


async def test_a_removal_that_came_back_was_written_over(desk: Desk) -> None:
    change = await _edit(desk, action="remove", search="- first\n", content=None, format=None, section=None)
    await _saved(desk, LOG)
    assert await _marked(desk) == {change}


async def test_what_is_deleted_much_later_is_a_persons_word(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await _edit(desk)
    monkeypatch.setattr(overwrites, "RECENT_SPAN", timedelta(0))
    await _saved(desk, LOG)
    assert await _marked(desk) == set()


async def test_a_mark_is_made_once_and_goes_with_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    change = await _edit(desk)
    await _saved(desk, LOG)
    when = "SELECT MAX(overwritten) FROM note_change_files"
    first = await desk.vault.db.read(lambda tx: tx.value(when))
    await overwrites.detect_overwrites(desk.vault, ["log.md"])
    assert await desk.vault.db.read(lambda tx: tx.value(when)) == first
    assert await _marked(desk) == {change}
    monkeypatch.setattr(overwrites, "RECENT_SPAN", timedelta(0))
    assert await _warnings(desk) == []


async def test_a_note_that_is_gone_or_too_long_is_left_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await _edit(desk)
    monkeypatch.setattr(overwrites, "MAX_BYTES", 10)
    await _saved(desk, LOG)
    assert await _marked(desk) == set()
    (desk.root / "log.md").unlink()
    await reconciliation.reconcile_paths(desk.vault, ["log.md"])
    await overwrites.detect_overwrites(desk.vault, ["log.md", "none.md"])
    assert await _marked(desk) == set()
