"""The console behind a real server: where it is, where it is not, and what may come in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.server.http.serving import Site, browser, served
from tests.server.http.test_sign_in_door import prepare
from tests.server.oauth.desk import Browser

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with served(tmp_path_factory.mktemp("console"), prepare=prepare) as running:
        yield running


async def test_from_the_front_door_to_a_memory_and_out_again(site: Site) -> None:
    async with site.client("owner") as client:
        await client.call_tool("remember", {"content": "The harbour has three cranes."})
    async with browser(base_url=site.url) as http:
        visitor = Browser(http)
        front = await visitor.follow(await visitor.open("/"))
        page = await visitor.follow(front)
        listed = await visitor.follow(
            await visitor.send(page, "/oauth/sign-in", name="ann", password="wooden boats cross slowly")
        )
        assert "/ui/v/main/" in listed.text
        found = await visitor.open("/ui/v/main/search?q=cranes")
        assert "three <mark>cranes</mark>" in found.text
        assert 'href="/ui/v/main/"' in (await visitor.open("/oauth/account")).text
        gone = await visitor.send(found, "/oauth/sign-out")
        assert gone.status_code == 303
        assert (await visitor.open("/ui/")).status_code == 303


async def test_a_note_opens_whatever_it_is_called_and_no_other_address_takes_percent_signs(site: Site) -> None:
    for path in ("Über uns/100% [x].md", "a b.md"):
        async with site.client("owner") as client:
            await client.call_tool("note_write", {"mode": "create", "path": path, "content": "Said here"})
    async with browser(base_url=site.url) as http:
        visitor = Browser(http)
        page = await visitor.open("/oauth/sign-in")
        await visitor.send(page, "/oauth/sign-in", name="ann", password="wooden boats cross slowly")
        listed = await visitor.open("/ui/v/main/notes/")
        found = re.findall(r'href="(/ui/v/main/notes/[^"]*%20[^"]*)"', listed.text)
        assert len(found) == 3, "both notes, and the folder of one"
        assert [(await visitor.open(each)).status_code for each in found] == [200, 200, 200]
        assert "Said here" in (await visitor.open("/ui/v/main/notes/a%20b.md")).text
        assert "Said here" in (await visitor.open("/ui/v/main/notes/%C3%9Cber%20uns/100%25%20%5Bx%5D.md")).text
        for path in ("notes/a%2fb.md", "notes/a%5Cb.md", "%6eotes/a.md", "notes%2fa.md", "search%20"):
            assert (await http.get(f"/ui/v/main/{path}")).headers["content-type"] == "application/json"
        assert (await http.get("/ui/%61dmin/people")).headers["content-type"] == "application/json"


async def test_the_door_answers_to_its_own_name_and_origin(site: Site) -> None:
    async with browser(base_url=site.url) as http:
        for path in ("/", "/ui/", "/ui/v/main/", "/ui/assets/x"):
            assert (await http.get(path, headers={"host": "evil.example"})).status_code == 421
            assert (await http.get(path, headers={"origin": "https://evil.example"})).status_code == 403
        own = await http.get("/ui/", headers={"origin": "http://localhost:6274"})
        assert "access-control-allow-origin" not in own.headers
        assert (await http.post("/ui/v/main/memories/x", content=b"x" * 2_000_000)).status_code == 413
        assert (await http.get("/ui/%76/main/")).status_code == 404
        assert (await http.get("/uix/")).status_code == 404


@pytest.mark.parametrize("flags", [{"ui.enabled": False}, {"auth.login": "off"}])
async def test_where_it_is_switched_off_or_nobody_signs_in_nothing_is_there(
    tmp_path_factory: pytest.TempPathFactory, flags: dict[str, object]
) -> None:
    async with (
        served(tmp_path_factory.mktemp("off"), **flags) as site,
        browser(base_url=site.url) as http,
    ):
        for path in ("/", "/ui", "/ui/", "/ui/v/main/"):
            answer = await http.get(path)
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == "not_found"


async def test_where_everybody_is_the_owner_nobody_signs_in(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with (
        served(tmp_path_factory.mktemp("none"), **{"auth.mode": "none"}) as site,
        browser(base_url=site.url) as http,
    ):
        page = await http.get("/ui/v/main/")
        assert page.status_code == 200
        assert "Everybody here is the owner" in page.text
        assert (await http.get("/ui/", headers={"host": "evil.example"})).status_code == 421
