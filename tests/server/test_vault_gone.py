"""A vault whose folder was taken away answers every tool on notes alike."""

from __future__ import annotations

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import desk_in


@pytest.mark.parametrize("whole", [True, False])
async def test_reading_and_writing_say_that_the_vault_is_unavailable(opening: Opening, whole: bool) -> None:
    async with desk_in(opening) as desk:
        await desk.put({"a.md": "x\n"})
        gone = desk.vault.folder if whole else desk.root
        away = gone.with_name("away")
        gone.rename(away)
        try:
            for tool, arguments in (
                ("note_read", {}),
                ("note_write", {"content": "y", "mode": "overwrite"}),
                ("note_edit", {"content": "y"}),
                ("note_move", {"to": "b.md"}),
                ("note_delete", {"confirm": True}),
            ):
                refused = await desk.ask(tool, path="a.md", **arguments)
                assert refused.code == "vault_unavailable", tool
        finally:
            away.rename(gone)
        assert (await desk.ask("note_edit", path="a.md", content="y")).ok
