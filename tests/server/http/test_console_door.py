"""The console behind a real server: where it is, where it is not, and what may come in."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.server.http.serving import Site, browser, raw, served
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


async def test_a_note_may_be_called_anything(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with (
        served(tmp_path_factory.mktemp("named"), **{"auth.mode": "none"}) as site,
        browser(base_url=site.url) as http,
    ):
        async with raw(site, "owner") as owner:
            await owner.call("note_write", {"path": "Höfe/Paint & 100 %.md", "content": "# Paint\n\nBlue."})
        folder = await http.get("/ui/v/main/notes/H%C3%B6fe/")
        (address,) = re.findall(r'href="(/ui/v/main/notes/H[^"]*md)"', folder.text)
        assert "Blue." in (await http.get(address)).text
        for strange in (
            "H%C3%B6fe%2FPaint%20%26%20100%20%25.md",
            "%48%C3%B6fe/",
            "H%C3%B6fe/%2e%2e/",
            "%zz",
            "%5C",
            "%00",
        ):
            answer = await http.get(f"/ui/v/main/notes/{strange}")
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


async def test_an_open_page_does_not_hold_up_a_shutdown(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with (
        served(tmp_path_factory.mktemp("drained"), **{"auth.mode": "none"}) as site,
        browser(base_url=site.url) as http,
        http.stream("GET", "/ui/v/main/events") as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.aiter_lines()
        assert await anext(lines) == "retry: 3000"
        site.state["drain"]()
        assert [line async for line in lines if line] == []
        assert (await http.get("/ui/v/main/events")).status_code == 503
