"""Names in notes that nobody works on are linked, where that is wanted; whoever takes that back is heard.

Covers vaults.graph.link_feedback.proactive_queue.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import Opening
from tests.noted import PATIENCE_S
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults import registry
from vaults.domain.graph.links import proactive_links
from vaults.graph.link_feedback import proactive_queue
from vaults.registry import VaultRules

FLAGS = {"links.proactive": True, "links.proactive_idle_s": 600, "links.proactive_per_hour": 3}
PLACES = {f"places/{name}.md": f"# {name}\n" for name in ("Port Ellen", "Ben Nevis", "Loch Ness")}
LOGS = {f"log {n}.md": f"We came to [[Port Ellen]] on day {n}, and to [[Ben Nevis]].\n" for n in range(8)}
TEXT = "We went to Port Ellen by boat.\n"
LINKED = "We went to [[Port Ellen]] by boat.\n"
LONG_AGO = "2026-01-01T00:00:00.000Z"


@asynccontextmanager
async def idle_desk(opening: Opening, **flags: Any) -> AsyncIterator[Desk]:
    """A vault whose chores are run by hand."""
    async with desk_in(opening, {**FLAGS, **flags}) as desk:
        await desk.put({**PLACES, **LOGS})  # people link these names here
        await desk.vault.db.write(proactive_queue.clear)
        yield desk


async def rest(desk: Desk, *paths: str) -> list[str]:
    """Everybody leaves these notes alone for a day, and what is owed gets done; those that are linked then."""
    for path in paths:
        os.utime(desk.root / path, (time.time() - 86_400, time.time() - 86_400))
    await desk.vault.db.write(lambda tx: tx.run("UPDATE proactive_queue SET at = ?", (LONG_AGO,)))
    await chores(desk)
    return [path for path in paths if "[[" in desk.text(path)]


async def chores(desk: Desk) -> None:
    """What is owed gets done."""
    desk.vault.start_background_work()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if not desk.vault.background.is_busy:
                return
            await asyncio.sleep(0.01)


async def queued(desk: Desk) -> list[str]:
    return [path for path, _ in await desk.vault.db.read(lambda tx: proactive_queue.read_due(tx, "9", 100))]


async def states(desk: Desk) -> list[tuple[Any, ...]]:
    return await desk.vault.db.read(
        lambda tx: tx.all("SELECT path, entity, source, who, state FROM link_applications ORDER BY seq")
    )


async def test_an_idle_note_is_linked_as_one_change_that_can_be_taken_back(opening: Opening) -> None:
    async with idle_desk(opening) as desk:
        await desk.done("note_write", path="day.md", content=TEXT)
        assert await queued(desk) == ["day.md"]
        assert await rest(desk, "day.md") == ["day.md"]
        assert desk.text("day.md") == LINKED
        assert await states(desk) == [("day.md", "port ellen", "proactive", "strongroom", "standing")]
        change = (await desk.done("history", path="day.md"))["changes"][0]
        assert (change["author"], change["tool"]) == ("strongroom", "links")
        await desk.done("history", action="undo", ref=change["id"])
        assert desk.text("day.md") == TEXT


async def test_a_note_in_which_that_was_taken_back_is_never_touched_again_and_the_entity_counts_for_less(
    opening: Opening,
) -> None:
    async with idle_desk(opening) as desk:
        await desk.done("note_write", path="day.md", content=TEXT)
        await rest(desk, "day.md")
        change = (await desk.done("history", path="day.md"))["changes"][0]["id"]
        await desk.done("history", action="undo", ref=change)
        assert await rest(desk, "day.md") == []  # at once, before it is judged
        await desk.vault.db.write(lambda tx: tx.run("UPDATE link_applications SET gone = ?", (LONG_AGO,)))
        await chores(desk)
        assert (await states(desk))[0][-1] == "undone"
        verdicts = await desk.vault.db.read(lambda tx: tx.all("SELECT entity, verdict FROM link_feedback"))
        assert verdicts == [("port ellen", "removed")]
        await desk.done("note_edit", path="day.md", action="add", content="And to Ben Nevis.")
        assert await rest(desk, "day.md") == []
        assert "[[" not in desk.text("day.md")


async def test_a_note_is_left_alone_until_nobody_has_saved_it_for_a_while(opening: Opening) -> None:
    async with idle_desk(opening) as desk:
        await desk.done("note_write", path="day.md", content=TEXT)
        await chores(desk)
        assert await queued(desk) == ["day.md"]
        # Another program saved it, which nothing has noticed yet.
        await desk.vault.db.write(lambda tx: tx.run("UPDATE proactive_queue SET at = ?", (LONG_AGO,)))
        await chores(desk)
        assert await desk.vault.db.read(lambda tx: proactive_queue.read_due(tx, LONG_AGO, 9)) == []
        assert await queued(desk) == ["day.md"]
        assert desk.text("day.md") == TEXT


async def test_a_note_that_is_saved_while_it_is_looked_at_waits_again(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with idle_desk(opening) as desk:
        await desk.done("note_write", path="day.md", content=TEXT)
        found = proactive_links._find_sure_links

        async def slowly(*args: Any) -> Any:
            seen = await found(*args)
            await desk.put({"day.md": f"{TEXT}and more"})
            return seen

        monkeypatch.setattr(proactive_links, "_find_sure_links", slowly)
        assert await rest(desk, "day.md") == []
        assert desk.text("day.md") == f"{TEXT}and more"
        assert await queued(desk) == ["day.md"]


async def test_only_so_many_notes_an_hour_are_linked_and_the_others_wait(opening: Opening) -> None:
    async with idle_desk(opening) as desk:
        paths = [f"day{n}.md" for n in range(5)]
        for path in paths:
            await desk.done("note_write", path=path, content=TEXT)
        assert len(await rest(desk, *paths)) == 3
        assert len(await rest(desk, *paths)) == 3
        await desk.vault.db.write(lambda tx: tx.run("UPDATE link_applications SET at = ?", (LONG_AGO,)))
        assert len(await rest(desk, *paths)) == 5


async def test_a_note_that_does_not_want_links_gets_none(opening: Opening) -> None:
    async with idle_desk(opening) as desk:
        await desk.done("note_write", path="day.md", content=f"---\nauto_link: false\n---\n{TEXT}")
        assert await rest(desk, "day.md") == []
        assert "[[" not in desk.text("day.md")


@pytest.mark.parametrize(
    "flags", [{"links.proactive": False}, {"server.write_mode": "ask"}, {"server.write_mode": "off"}]
)
async def test_nothing_is_linked_unasked_where_that_is_not_wanted(opening: Opening, flags: dict[str, Any]) -> None:
    async with idle_desk(opening, **flags) as desk:
        await desk.done("note_write", path="day.md", content=TEXT)
        await desk.vault.db.write(lambda tx: proactive_queue.enqueue(tx, "day.md"))
        assert await rest(desk, "day.md") == []
        assert (desk.text("day.md"), await queued(desk)) == (TEXT, [])


async def test_nothing_is_linked_unasked_in_a_vault_where_people_agree_to_writes(opening: Opening) -> None:
    async with idle_desk(opening) as desk:
        await desk.done("note_write", path="day.md", content=TEXT)
        services = desk.services
        await services.control.write(lambda tx: registry.set_rules(tx, "main", VaultRules(write_mode="ask")))
        await services.registry_cache.refresh()
        async with services.pool.lease(services.registry_cache.entry("main")):  # any call tells the vault
            assert await rest(desk, "day.md") == []


async def test_the_notes_of_a_vault_that_is_read_for_the_first_time_do_not_wait(opening: Opening) -> None:
    async with desk_in(opening, FLAGS) as desk:
        desk.vault.notes.report(replace(desk.vault.notes.progress, phase="scanning"))
        await desk.put(PLACES)
        assert await queued(desk) == []
        await desk.put({"places/Loch Ness.md": "changed while nobody looked"})
        assert await queued(desk) == ["places/Loch Ness.md"]
