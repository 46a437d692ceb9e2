"""A folder that is not there is named, one that only holds no note is not; what is not counted yet is not told as 0."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import Opening
from tests.server.rendering.answers import is_told
from tests.vaults.domain.notes.notes_desk import desk_in


@pytest.mark.parametrize("tool", ["find_notes", "tasks"])
async def test_a_folder_that_is_not_there_is_told(opening: Opening, tool: str) -> None:
    async with desk_in(opening) as desk:
        await desk.put({"Plans/a.md": "x\n", "b.md": "- [ ] y\n"})
        (desk.root / "empty").mkdir()
        for folder, said in (
            ("nope", "no folder 'nope'"),
            ("/etc/passwd", "no folder 'etc/passwd'"),
            ("*", "no folder '*'"),
            ("plans", "no folder 'plans'; there is 'Plans'"),
            ("b.md/below", "no folder 'b.md/below'"),
        ):
            answer = await desk.ask(tool, folder=folder)
            assert (answer.ok, answer.content.get("warnings")) == (True, [said])
            assert said in answer.text
        for folder in ("empty", "", "/"):
            assert "warnings" not in (await desk.ask(tool, folder=folder)).content, folder


async def test_status_says_that_files_are_not_read_yet(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk_in(opening) as desk:
        notes = desk.vault.notes
        monkeypatch.setattr(notes, "progress", replace(notes.progress, phase="unread"))
        assert is_told((await desk.ask("status")).text, "notes 0", "state unread")
