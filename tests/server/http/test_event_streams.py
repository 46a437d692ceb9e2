"""Two hundred open pages at once, over real sockets: all hear of a change, one more is told to wait, and while nothing
happens nothing is done for them.

Covers server.ui.events_page and server.ui.live_streams, behind a server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from auth.grants import set_grant
from auth.people import browser_sessions, people
from auth.principal import LOCAL
from auth.roles import Role
from server.oauth.visits import Visit, Visits
from server.ui.events_page import RETRY_AFTER_S
from server.ui.live_streams import IN_ALL, PER_PERSON
from tests.server.http.serving import Ground, Site, browser, raw, served
from tests.work import PATIENCE_S
from vaults.db.sql import Writer

CHANGE = b"event: change\ndata: 1\n\n"
PEOPLE = IN_ALL // PER_PERSON + 1


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A connection with a stream on it. ``status``: of its answer."""

    status: int
    head: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def next(self) -> bytes:
        """What the server says next."""
        async with asyncio.timeout(PATIENCE_S):
            length = int(await self.reader.readuntil(b"\r\n"), 16)
            return (await self.reader.readexactly(length + 2))[:-2]


@dataclass(frozen=True, slots=True)
class Visitors:
    """``cookies``: a session of each of ``PEOPLE`` readers of the vault."""

    site: Site
    cookies: Sequence[str]

    @asynccontextmanager
    async def page(self, person: int) -> AsyncIterator[OpenPage]:
        """The stream of a page somebody opens."""
        url = urlsplit(self.site.url)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        cookie = f"strongroom-{url.port}={self.cookies[person]}"
        writer.write(f"GET /ui/v/main/events HTTP/1.1\r\nhost: {url.netloc}\r\ncookie: {cookie}\r\n\r\n".encode())
        try:
            async with asyncio.timeout(PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
            yield OpenPage(int(head.split(b" ", 2)[1]), head.lower(), reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()


@pytest.fixture
async def visitors(tmp_path: Path) -> AsyncIterator[Visitors]:
    cookies: list[str] = []

    def write(tx: Writer) -> None:
        for number in range(PEOPLE):
            people.add(tx, f"p{number}", 0)
            set_grant(tx, f"p{number}", LOCAL, "main", Role.READER)
            cookies.append(browser_sessions.start(tx, f"p{number}", "tests", time.time()))

    async def prepare(ground: Ground) -> dict[str, str]:
        await ground.control.write(write)
        return {}

    async with served(tmp_path, prepare=prepare) as site:
        yield Visitors(site, cookies)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Visit]:
    """Whose session was looked at, for what their stream would say next."""
    seen: list[Visit] = []
    goes_on = Visits.goes_on

    async def noting(self: Visits, visit: Visit) -> bool:
        seen.append(visit)
        return await goes_on(self, visit)

    monkeypatch.setattr(Visits, "goes_on", noting)
    return seen


async def test_two_hundred_pages_hear_of_a_change_and_one_more_is_told_to_wait(
    visitors: Visitors, looks: list[Visit]
) -> None:
    site = visitors.site
    async with _all_of(visitors) as pages, raw(site, "owner") as agent, browser(base_url=site.url) as http:
        assert {each.status for each in pages} == {200}
        assert [await each.next() for each in pages] == [b"retry: 3000\n\n"] * IN_ALL
        for _ in range(50):
            assert (await http.get("/health/live")).status_code == 200
        assert looks == [], "while nothing happens nothing is asked for them"
        async with visitors.page(PEOPLE - 1) as late:
            assert late.status == 503
            assert f"retry-after: {RETRY_AFTER_S}".encode() in late.head
            assert b"too many pages are open" in await late.reader.readuntil(b"\n")
        claimed = await agent.call("claims", {"action": "claim", "resources": ["cranes/1"]})
        assert not claimed.get("isError"), claimed
        assert await asyncio.gather(*(each.next() for each in pages)) == [CHANGE] * IN_ALL
        assert len(looks) == IN_ALL, "each is asked for once: a change is one line, however many calls make it"


async def test_a_page_that_is_closed_makes_room_for_another(visitors: Visitors) -> None:
    async with _all_of(visitors) as pages:
        pages[7].writer.close()
        async with asyncio.timeout(PATIENCE_S):
            while True:  # the server learns of it a moment later
                async with visitors.page(PEOPLE - 1) as late:
                    if late.status == 200:
                        break


@asynccontextmanager
async def _all_of(visitors: Visitors) -> AsyncIterator[list[OpenPage]]:
    """As many pages as there may be, of as few people."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(visitors.page(number // PER_PERSON)) for number in range(IN_ALL)]
