"""Names that are not linked are found, where they may be linked and nowhere else.

Covers vaults.domain.graph.links.phrase_search.
"""

from __future__ import annotations

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import desk_in
from vaults.domain.graph.links.unlinked_mentions import UnlinkedRequest, find_unlinked_mentions
from vaults.errors import InvalidArgument, NotFound

NOTES: dict[str, str | bytes] = {
    "people/Ann Lee.md": '---\naliases: [Annie, "A.*[x](+"]\n---\nAnn Lee herself',
    "people/東京.md": "x",
    "a.md": "once Ann Lee came,\nand ann lee went",
    "b.md": "Annie, and [[Ann Lee]]",
    "c.md": "`Ann Lee`\n\n# Ann Lee\n\n[[x|Ann Lee]] https://x.org/Annie",
    "d.md": "nothing about Annies or Joann Leer",
    "e.md": "said Annie, of A.*[x](+ and 東京 too",
}


async def test_notes_that_name_another_and_do_not_link_it_are_found(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(NOTES)
        found = await find_unlinked_mentions(desk.vault, UnlinkedRequest(entity="people/Ann Lee.md"))
        assert [(each.path, each.line, each.term, each.count) for each in found.mentions[:1]] == [
            ("a.md", 1, "Ann Lee", 2)
        ]
        assert [each.path for each in found.mentions] == ["a.md", "e.md"]
        assert found.mentions[0].context == "once Ann Lee came,"
        one = await find_unlinked_mentions(desk.vault, UnlinkedRequest(entity="people/Ann Lee.md", limit=1))
        rest = await find_unlinked_mentions(desk.vault, UnlinkedRequest(entity="people/Ann Lee.md", cursor=one.cursor))
        assert [*one.mentions, *rest.mentions] == found.mentions
        assert found.cursor is rest.cursor is None


async def test_what_a_note_names_is_found_once_each_in_order(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(NOTES)
        found = await find_unlinked_mentions(desk.vault, UnlinkedRequest(path="e.md"))
        assert (found.mentions[0].term, found.mentions[0].entity) == ("Annie", ["people/Ann Lee.md"])
        assert found.mentions[-1].entity == ["people/東京.md"]
        one = await find_unlinked_mentions(desk.vault, UnlinkedRequest(path="e.md", limit=1))
        rest = await find_unlinked_mentions(desk.vault, UnlinkedRequest(path="e.md", cursor=one.cursor))
        assert [*one.mentions, *rest.mentions] == found.mentions
        only = await find_unlinked_mentions(desk.vault, UnlinkedRequest(path="e.md", entity="people/東京.md"))
        assert [each.term for each in only.mentions] == ["東京"]
        assert (await find_unlinked_mentions(desk.vault, UnlinkedRequest(path="b.md"))).mentions == []
        assert [
            each.path
            for each in (await find_unlinked_mentions(desk.vault, UnlinkedRequest(entity="people/東京.md"))).mentions
        ] == ["e.md"]


async def test_what_cannot_be_asked_is_refused(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.put(NOTES)
        with pytest.raises(InvalidArgument):
            await find_unlinked_mentions(desk.vault, UnlinkedRequest())
        with pytest.raises(NotFound):
            await find_unlinked_mentions(desk.vault, UnlinkedRequest(entity="nobody.md"))
        with pytest.raises(InvalidArgument):
            await find_unlinked_mentions(desk.vault, UnlinkedRequest(entity="a.md", cursor="x"))
