"""Links that tools set and people take out teach, through everything a note goes through on its way."""

from __future__ import annotations

from typing import Any

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.domain.graph.links import proactive_links
from vaults.graph.link_feedback import link_trust

NOTES: dict[str, str | bytes] = {"Port Ellen.md": "# Port Ellen\n", "Ben Nevis.md": "# Ben Nevis\n"}
AGO = "2026-01-01T00:00:00.000Z"


async def states(desk: Desk) -> dict[str, str]:
    rows = await desk.vault.db.read(lambda tx: tx.all("SELECT entity, state FROM link_applications"))
    return dict(rows)


async def later(desk: Desk) -> None:
    """Time passes, and what is owed gets done."""
    await desk.vault.db.write(lambda tx: tx.run("UPDATE link_applications SET gone = ? WHERE gone IS NOT NULL", (AGO,)))
    await proactive_links.learn_and_link(desk.vault)


async def written(desk: Desk) -> dict[str, Any]:
    await desk.put(NOTES)
    done = await desk.done("note_write", path="day.md", content="Port Ellen, then Ben Nevis.", auto_link=True)
    assert await states(desk) == {"port ellen": "standing", "ben nevis": "standing"}
    return done


async def test_a_link_that_another_program_takes_out_counts_against_its_name_alone(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await written(desk)
        await desk.put({"day.md": desk.text("day.md").replace("[[Port Ellen]]", "Port Ellen")})
        assert (await states(desk))["port ellen"] == "missing"
        await later(desk)
        assert await states(desk) == {"port ellen": "removed", "ben nevis": "standing"}
        here = await desk.vault.db.read(lambda tx: link_trust.read_trust(tx, ""))
        assert set(here.points) == {"port ellen"}
        assert here.points["port ellen"] < 0


async def test_taking_back_the_change_that_set_links_is_no_refusal(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put({**NOTES, "day.md": "first\n"})
        done = await desk.done("note_edit", path="day.md", action="add", content="To Port Ellen.", auto_link=True)
        assert "[[Port Ellen]]" in desk.text("day.md")
        await desk.done("history", action="undo", ref=done["change"])
        await later(desk)
        assert await states(desk) == {"port ellen": "undone"}
        assert (await desk.vault.db.read(lambda tx: link_trust.read_trust(tx, ""))).points == {}


async def test_a_rename_that_takes_the_links_along_is_no_refusal_whoever_makes_it(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await written(desk)
        await desk.done("note_move", path="Port Ellen.md", to="places/Ellen Harbour.md")
        await later(desk)
        assert set((await states(desk)).values()) == {"standing"}
        # Another program renames, and the index sees the note with the links first.
        (desk.root / "Ben Nevis.md").rename(desk.root / "Zz Nevis.md")
        await desk.put({"day.md": desk.text("day.md").replace("[[Ben Nevis]]", "[[Zz Nevis]]")})
        await later(desk)
        assert set((await states(desk)).values()) == {"standing"}
        assert (await desk.vault.db.read(lambda tx: link_trust.read_trust(tx, ""))).points == {}
