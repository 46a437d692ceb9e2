"""Search: what its address asks, and why each hit is there."""

from __future__ import annotations

import html
import re
from urllib.parse import urlencode

import pytest
from starlette.datastructures import QueryParams

from auth.roles import Role
from server.ui.search_page import PER_PAGE, Question, cut_at_matches
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
    for wanted in ("nothing.md", "../../etc/passwd", "", "x" * 4000):
        page = await guest.open(f"/ui/v/main/items?{urlencode({'id': wanted, 'from': '-1'})}")
        assert page.status_code in (404, 422), wanted
        assert 'role="alert"' in page.text


async def test_an_address_asks_for_no_more_than_the_form_has() -> None:
    asked = Question.of(QueryParams("q=+x+&kinds=note&kinds=evil&mode=none&since=2026-01-01&archived=1&limit=500"))
    assert asked == Question(q="x", kinds=("note",), since="2026-01-01")
    assert asked.as_arguments() == {
        "query": "x", "mode": "hybrid", "limit": PER_PAGE, "max_tokens": 20_000, "include_archived": False,
        "kinds": ["note"], "since": "2026-01-01",
    }  # fmt: skip


async def test_texts_are_cut_at_what_matches() -> None:
    assert cut_at_matches("a (b) c", ["(b)", "b", ""]) == [("a ", False), ("(b)", True), (" c", False)]
    assert cut_at_matches("a", []) == [("a", False)]
    assert cut_at_matches("", ["a"]) == []
