"""Notes shown in place: once, one level deep, bounded, as HTML that was cleaned, and what cannot be shown says why."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from markupsafe import Markup

from auth.roles import Role
from server.ui.note_embeds import MOST
from server.ui.note_html import NotePlaces, find_embeds, render_note
from tests.server.ui.stage import HOSTILE, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

PLACES = NotePlaces("/n/", {"Rope": "Rope.md"}.get)


async def prose(stage: Stage, path: str, **notes: str) -> str:
    """How a reader sees the first of these notes."""
    for name, text in notes.items():
        await stage.ask("note_write", path=f"{name}.md", content=text, mode="overwrite")
    guest = await stage.person(f"reader-of-{path}", Role.READER)
    page = (await guest.open(f"/ui/v/main/notes/{quote(path)}.md")).text
    return page.partition('class="prose"')[2].partition('<section class="forms"')[0]


async def test_a_note_and_a_section_stand_in_place_with_their_links_and_without_their_properties(stage: Stage) -> None:
    html = await prose(
        stage,
        "trip",
        knot="Over and under.\n",
        rope="---\nowner: mara\n---\n# Rope\n\nTwelve **metres**, see [[knot]].\n\n## Care\n\nKeep it dry.\n",
        trip="Bring:\n\n![[rope]]\n\nRemember ![[knot]] and\n\n![[rope#Care]]\n",
    )
    whole, _, section = html.partition("Remember")
    assert "Twelve <strong>metres</strong>" in whole
    assert "<h1>Rope</h1>" in whole
    assert "&lt;" not in html
    assert 'href="/ui/v/main/notes/knot.md"' in whole
    assert "mara" not in whole
    assert 'id="h-care"' not in html, "an id would stand there twice"
    assert "Over and under" not in html, "within a line it is a link"
    assert "Keep it dry" in section
    assert "Twelve" not in section


async def test_what_is_missing_is_itself_or_fails_says_so(stage: Stage) -> None:
    await stage.ask("note_write", path="lost.md", content="Was here\n")
    file = next(stage.services.data.rglob("lost.md"))
    text = "![[lost]]\n\n![[nowhere]]\n\n![[first]]\n\n![[first#Gone]]\n\n![[lost#No such]]\n"
    await stage.ask("note_write", path="first.md", content=text)
    file.unlink()
    html = await prose(stage, "first")
    assert "There is no such note to show here." in html
    assert html.count("This is the note you are reading") == 2
    assert html.count('class="embedded"') == 5
    assert "Was here" not in html


async def test_embeds_of_embeds_are_links_so_that_circles_end(stage: Stage) -> None:
    html = await prose(stage, "a", c="Deep\n", b="Middle\n\n![[a]]\n\n![[c]]\n", a="Top\n\n![[b]]\n")
    assert "Middle" in html
    assert "Deep" not in html
    assert html.count('class="embedded"') == 1
    assert 'href="/ui/v/main/notes/c.md"' in html


async def test_their_number_and_their_size_are_bounded(stage: Stage) -> None:
    many = {f"n{number}": f"Text {number}.\n" for number in range(MOST + 2)}
    links = "".join(f"![[{name}]]\n\n" for name in many)
    html = await prose(stage, "many", long="word " * 20_000, **many, many=f"![[long]]\n\n{links}")
    assert html.count('class="embedded"') == MOST
    assert "There is more of it than is shown here." in html
    assert html.count("word") < 10_000
    assert f"Text {MOST - 2}." in html
    assert f"Text {MOST}." not in html


async def test_a_hostile_embed_is_text(stage: Stage) -> None:
    html = await prose(
        stage,
        "shows",
        evil=f"{HOSTILE[:200]}\n\n<form><input name=form></form>\n\n- [ ] tick\n\n&#xe000;7 x&#xe001;",
        shows="![[evil]]\n\n![[<script>alert(2)</script>]]\n",
    )
    assert "<script" not in html
    assert "<form" not in html
    assert 'href="javascript' not in html
    assert "<button" not in html
    assert html.count('class="embedded"') == 2


async def test_only_what_stands_alone_and_is_a_note_is_an_embed() -> None:
    text = (
        "![[a]]\n![[b#c|label]]\n\nin ![[x]] line\n\n![[p.png]]\n\n![[a#^block]]\n\n`![[y]]`\n\n[[z]]\n\n- ![[d.md]]\n"
    )
    assert find_embeds(text) == ["a", "b#c", "d.md"]
    assert find_embeds("![[") == find_embeds("") == []


async def test_a_block_stands_for_its_embed_once_and_a_note_cannot_make_one_itself() -> None:
    block = Markup("<div>BLOCK</div>")
    html = render_note("![[Rope]]\n\n![[Rope]]\n\n&#xe000;e0&#xe001;\n", PLACES, embeds={"Rope": block}).html
    assert html.startswith("<div>BLOCK</div>")
    assert "Rope.md" in html
    odd = "![[Rope]]\n\n&#xe000;e0&#xe001; <i>&#xe000;0123456789abcdef e0&#xe001;</i>"
    assert render_note(odd, PLACES, embeds={"Rope": block}).html.count("BLOCK") == 1
    listed = render_note("- ![[Rope]]\n- x\n", PLACES, embeds={"Rope": block}).html
    assert "<li><div>BLOCK</div></li>" in listed
