"""A name that notes link to, and that others write as a name is written, is wanted much."""

from __future__ import annotations

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import desk_in
from vaults.domain.graph.links import stubs


async def test_a_name_that_is_also_written_unlinked_is_wanted_much(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(
            {
                "a.md": "[[Port Ellen]] and [[low road]]",
                "b.md": "[[Port Ellen]] and [[low road]]",
                "c.md": "The boat left Port Ellen by the low road.",
                "d.md": "`Port Ellen` is code here",
            }
        )
        found = await stubs.find_stubs(desk.vault, 10)
        assert [(each.name, each.wanted, each.source, each.named_in) for each in found.stubs] == [
            ("Port Ellen", "high", "both", ["c.md"]),
            ("low road", "medium", "links", []),
        ]
