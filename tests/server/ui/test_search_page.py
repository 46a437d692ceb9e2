"""Search: what its address asks, what its filters count, and why each hit is there.

Covers server.ui.search_page, server.ui.search_question, server.ui.search_facets and server.ui.search_hits.
"""

from __future__ import annotations

import html
import re
from urllib.parse import urlencode

import pytest
from starlette.datastructures import QueryParams

from auth.roles import Role
from server.ui.search_hits import cut_at_matches
from server.ui.search_question import COUNTED, PER_PAGE, TOKENS, Question
from tests.server.ui.stage import HOSTILE, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_hits_come_with_score_kind_author_time_and_reasons(stage: Stage) -> None:
    memory = await stage.remember("The cranes are painted green", type="fact")
    await stage.ask("note_write", path="Yard/Paint & co.md", content="# Paint\n\nGreen paint for the cranes")
    guest = await stage.person("anna", Role.READER)
    page = (await guest.open("/ui/v/main/search?q=cranes")).text
    assert f'href="/ui/v/main/memories/{memory}"' in page
    assert "<mark>cranes</mark>" in page
    assert "2 hits" in page
    assert "Fact" in page
    assert re.search(r'<time datetime="20', page)
    assert "its words" in page
    assert re.search(r'<rect class="fill" width="[0-9]+"', page)
    (link,) = re.findall(r'href="(/ui/v/main/notes/[^"]+)"', page)
    item = await guest.open(html.unescape(link))
    assert "Green paint for the cranes" in item.text
    only = (await guest.open("/ui/v/main/search?q=cranes&kinds=note")).text
    assert memory not in only
    assert re.search(r'value="note" checked', only)


async def test_filters_are_open_where_one_is_set(stage: Stage) -> None:
    guest = await stage.person("fay", Role.READER)
    folded, opened = '<details id="facets">', '<details id="facets" open>'
    for asked in ("", "q=cranes", "q=cranes&since=2026-01-01", "q=cranes&kinds=&tag="):
        assert folded in (await guest.open(f"/ui/v/main/search?{asked}")).text
    for asked in ("kinds=note", "types=fact", "author=ann", "folder=Yard", "tag=paint"):
        assert opened in (await guest.open(f"/ui/v/main/search?q=cranes&{asked}")).text
    assert opened in (await guest.open("/ui/search?q=cranes&vault=main")).text


async def test_a_page_of_hits_leads_to_the_next_with_everything_asked(stage: Stage) -> None:
    for number in range(PER_PAGE + 5):
        await stage.remember(f"Buoy number {number} lies in the eastern channel", tags=["buoys"])
    guest = await stage.person("bert", Role.READER)
    first = (await guest.open("/ui/v/main/search?q=buoy&mode=keyword&tag=buoys&kinds=memory")).text
    more = html.unescape(re.search(r'class="pager"><a href="([^"]*)"', first)[1])  # type: ignore[index]
    assert "tag=buoys" in more
    second = (await guest.open(more)).text
    found = [
        set(re.findall(r"Buoy</mark> number ([0-9]+)|<bdi>Buoy number ([0-9]+)", each)) for each in (first, second)
    ]
    assert found[0]
    assert found[1]
    assert not found[0] & found[1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [("since=never", "since must be an RFC 3339 time"), ("cursor=xx", "cursor"), ("until=2026-13-01", "until must be")],
)
async def test_what_the_tool_refuses_stands_beside_the_form_and_the_question_stays(
    stage: Stage, asked: str, said: str
) -> None:
    guest = stage.browser()
    await stage.person(f"n-{asked[:5]}", Role.READER)
    await guest.sign_in(f"n-{asked[:5]}")
    page = await guest.open(f"/ui/v/main/search?q=my+words&{asked}")
    assert page.status_code == 422
    assert said in page.text
    assert 'value="my words"' in page.text


async def test_hostile_questions_and_hits_are_only_texts(stage: Stage) -> None:
    await stage.remember(f"seagull {HOSTILE}", title=f"seagull {HOSTILE[:300]}")
    guest = await stage.person("cleo", Role.READER)
    for asked in ("seagull", f"seagull {HOSTILE[:90]}", '"><script>alert(2)</script>', "a" * 12_000, '"((', "\x00"):
        page = await guest.open(f"/ui/v/main/search?{urlencode({'q': asked, 'tag': '<i>'})}")
        assert page.status_code in (200, 422)
        page = await guest.open(f"/ui/v/main/search?{urlencode({'q': asked})}")
        title, _, body = page.text.partition("<body")
        assert "<script>alert" not in page.text
        assert 'href="javascript' not in page.text
        for turning in ("\u202e", "\U000e0041"):
            assert turning not in title
            assert turning not in body.partition('id="found"')[2]


async def test_what_is_no_item_is_not_shown(stage: Stage) -> None:
    guest = await stage.person("dirk", Role.READER)
    for wanted in ("nothing.md", "../../etc/passwd", "x" * 4000):
        page = await guest.open(f"/ui/v/main/items?{urlencode({'id': wanted, 'from': '-1'})}")
        assert page.status_code in (404, 422), wanted
        assert 'role="alert"' in page.text


async def test_an_address_that_names_no_item_is_no_page(stage: Stage) -> None:
    guest = await stage.person("nina", Role.READER)
    page = await guest.open("/ui/v/main/items")
    assert page.status_code == 404
    assert "Nothing is here" in page.text


async def test_what_finds_nothing_says_so(stage: Stage) -> None:
    guest = await stage.person("zora", Role.READER)
    page = await guest.open("/ui/v/main/search?q=zeppelin&mode=keyword&tags=none")
    assert "0 hits" in page.text
    assert "Nothing says that." in page.text


async def test_an_address_asks_for_no_more_than_the_form_has() -> None:
    asked = Question.of(QueryParams("q=+x+&kinds=note&kinds=evil&mode=none&since=2026-01-01&archived=1&limit=500"))
    assert asked == Question(q="x", kinds=("note",), since="2026-01-01")
    assert Question.of(QueryParams("q=x&types=fact&types=evil&types=error")).types == ("error", "fact")
    assert asked.as_arguments() == {
        "query": "x", "mode": "hybrid", "limit": COUNTED, "max_tokens": TOKENS, "include_archived": False,
        "kinds": ["note"], "since": "2026-01-01",
    }  # fmt: skip


async def test_texts_are_cut_at_what_matches() -> None:
    assert cut_at_matches("a (b) c", ["(b)", "b", ""]) == [("a ", False), ("(b)", True), (" c", False)]
    assert cut_at_matches("a", []) == [("a", False)]
    assert cut_at_matches("", ["a"]) == []


def counts_of(page: str) -> dict[tuple[str, str], str]:
    """What stands beside each filter that shows a count, by its name and value."""
    filters = re.findall(r'type="checkbox" name="([a-z]+)" value="([^"]*)"[^>]*>.*?</label>', page)
    shown = re.findall(r'name="([a-z]+)" value="([^"]*)"[^>]*> <span>.*?</span> <span class="count">([0-9,]+)<', page)
    assert {(name, value) for name, value, _ in shown} <= set(filters)
    return {(name, html.unescape(value)): count for name, value, count in shown}


async def test_filters_count_what_was_found_and_narrow_to_it(stage: Stage) -> None:
    for number in range(3):
        await stage.remember(f"Lock gate {number} was greased", type="fact", tags=["locks", f"gate-{number}"])
    kept = await stage.remember("Lock gate repairs go to Hansen", type="decision", tags=["locks"])
    await stage.ask("note_write", path="Locks/East/gate.md", content="# Gate\n\nThe lock gate of the east side")
    guest = await stage.person("ella", Role.READER)
    counts = counts_of((await guest.open("/ui/v/main/search?q=lock+gate&mode=keyword")).text)
    assert counts["kinds", "memory"] == "4"
    assert counts["kinds", "note"] == "1"
    assert counts["types", "fact"] == "3"
    assert counts["tag", "locks"] == "4"
    assert counts["folder", "Locks"] == "1"
    page = (await guest.open("/ui/v/main/search?q=lock+gate&mode=keyword&types=decision&tag=locks")).text
    assert re.findall(r'class="hit" href="([^"]*)"', page) == [f"/ui/v/main/memories/{kept}"]
    assert counts_of(page)["types", "fact"] == "3", "types are counted before they are picked"
    assert 'name="types" value="decision" checked' in page
    assert ("kinds", "note") not in counts_of(page), "nobody looked for notes, so that none is no news"
    assert 'name="tag" value="locks" checked' in page
    inner = (await guest.open("/ui/v/main/search?q=lock+gate&folder=Locks&folder=Locks%2FEast")).text
    assert 'name="folder" value="Locks/East" checked' in inner
    assert 'href="/ui/v/main/search?q=lock+gate"' in inner


async def test_one_call_serves_all_filters_and_pages(stage: Stage) -> None:
    guest = await stage.person("finn", Role.READER)
    for place in ("", "&start=20", "&kinds=memory"):
        await guest.open(f"/ui/v/main/search?q=buoy{place}")
    sessions = (await stage.ask("session_history", limit=50))["sessions"]
    (mine,) = [each for each in sessions if each["who"] == "finn"]
    assert [(each["tool"], each["calls"]) for each in mine["tools"]] == [("search", 3)]


async def test_a_type_is_found_behind_any_number_of_others_and_the_others_keep_their_counts(stage: Stage) -> None:
    for number in range(COUNTED + 5):
        await stage.remember(f"Windlass windlass windlass {number}", type="fact")
    few = [await stage.remember(f"We oil the windlass of boat {number} in spring", type="plan") for number in range(22)]
    guest = await stage.person("ida", Role.READER)
    any_type = (await guest.open("/ui/v/main/search?q=windlass&mode=keyword")).text
    assert not any(each in any_type for each in few), "all of the first answer are of another type"
    first = (await guest.open("/ui/v/main/search?q=windlass&mode=keyword&types=plan")).text
    assert "22 hits" in first
    assert counts_of(first)["types", "fact"] == str(COUNTED)
    more = html.unescape(re.search(r'class="pager"><a href="([^"]*)"', first)[1])  # type: ignore[index]
    assert "types=plan" in more
    pages = first + (await guest.open(more)).text
    assert set(re.findall(r'class="hit" href="/ui/v/main/memories/([^"]*)"', pages)) == set(few)
    across = (await guest.open("/ui/search?q=windlass&mode=keyword&types=plan")).text
    assert "22 hits" in across
    assert counts_of(across)["types", "fact"] == str(COUNTED)


async def test_what_cannot_be_seen_is_no_filter(stage: Stage) -> None:
    await stage.remember("A heron stands there", tags=["her\u202eon", "<b>bird</b>"])
    guest = await stage.person("greta", Role.READER)
    page = (await guest.open("/ui/v/main/search?q=heron&author=an%E2%80%AEna")).text
    assert "\u202e" not in page
    assert 'value="&lt;b&gt;bird&lt;/b&gt;"' in page


async def test_a_hit_can_be_opened_beside_the_list_and_leads_to_its_page_by_itself(stage: Stage) -> None:
    memory = await stage.remember("The osprey nests on the mast")
    guest = await stage.person("hugo", Role.READER)
    page = (await guest.open("/ui/v/main/search?q=osprey")).text
    assert re.search(r'<aside id="beside"[^>]* hidden>', page)
    assert f'<a class="hit" href="/ui/v/main/memories/{memory}">' in page
    assert page.index("</form>\n<aside") > page.index('class="hit"'), (
        "its forms would stand within the form of the search"
    )
