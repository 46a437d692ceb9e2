"""Open pages hear that something changed in their vault, as long as their person may, and never what it was.

Covers server.ui.live_streams, server.ui.events_page, server.ui.work_page and server.call_listeners.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from auth.people import accounts
from auth.people.people import principal_of
from auth.roles import Role
from server.call import Caller
from server.call_listeners import CallListeners, HeardCall
from server.dispatch import dispatch
from server.services import Services
from server.tools import discover
from server.ui import live_streams
from server.ui.live_streams import LiveStream, LiveStreams
from tests.server.ui.stage import Guest, Stage
from tests.work import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHANGE = "event: change\ndata: 1\n\n"


class OpenStream:
    """What a browser would hear. ``status``: None until it is answered."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self._said: asyncio.Queue[str | None] = asyncio.Queue()

    async def send(self, message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])  # type: ignore[call-overload]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}  # type: ignore[attr-defined]
        else:
            self._said.put_nowait(bytes(message.get("body", b"")).decode() or None)  # type: ignore[arg-type]

    async def next(self) -> str | None:
        """The next that is no comment; None: it has ended."""
        async with asyncio.timeout(PATIENCE_S):
            while (said := await self._said.get()) == ":\n\n":
                pass
        return said


@asynccontextmanager
async def listening(stage: Stage, guest: Guest, vault: str = "main") -> AsyncIterator[OpenStream]:
    stream, closed = OpenStream(), asyncio.Event()
    request = guest.http.build_request("GET", f"/ui/v/{vault}/events")
    path = request.url.path
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "scheme": "https", "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": ("10.0.0.7", 1), "server": ("mem.example", 443), "asgi": {"version": "3.0"}, "http_version": "1.1",
    }  # fmt: skip
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, object]:
        if messages:
            return messages.pop()
        await closed.wait()
        return {"type": "http.disconnect"}

    serving = asyncio.create_task(stage.app(scope, receive, stream.send))
    try:
        assert await stream.next()
        yield stream
    finally:
        closed.set()
        async with asyncio.timeout(PATIENCE_S):
            await serving


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_streams, "HEARTBEAT_S", 0.02)
    monkeypatch.setattr(live_streams, "GAP_S", 0.0)


def agent(name: str, vault: str = "main") -> Caller:
    return Caller(principal_of(name), vault, Role.WRITER, "http", client="harbour-agent", form="whole")


async def call(stage: Stage, caller: Caller, tool: str, **arguments: object) -> None:
    outcome = await dispatch(stage.services, caller, tool, arguments)
    assert outcome.ok, outcome.content


async def test_a_page_hears_who_begins_to_work_and_what_is_claimed_and_nothing_else(stage: Stage, quick: None) -> None:
    guest = await stage.person("anna", Role.READER)
    for name, vault in (("bot", "main"), ("bot-two", "main"), ("stranger", "other")):
        await stage.person(name, Role.WRITER, vault)
    async with listening(stage, guest) as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        await call(stage, agent("bot"), "recall", query="crane")
        assert await stream.next() == CHANGE
        await call(stage, agent("bot"), "recall", query="crane")  # nothing one would see
        await call(stage, agent("bot"), "remember", content="Cranes are green")
        await call(stage, agent("bot"), "claims", action="list")
        await call(stage, agent("stranger", "other"), "recall", query="crane")
        await guest.open("/ui/v/main/work")
        (open_stream,) = streams_of(stage)
        assert not open_stream.changed.is_set()
        await call(stage, agent("bot"), "claims", action="claim", resources=["cranes/1"])
        assert await stream.next() == CHANGE
        assert "cranes/1" in (await guest.open("/ui/v/main/work")).text
        await call(stage, agent("bot-two"), "session_save", summary="done")
        assert await stream.next() == CHANGE
    assert not stage.services.call_listeners, "when nobody listens, calls tell nobody"


def streams_of(stage: Stage) -> list[LiveStream]:
    return [each for hear in stage.services.call_listeners._listeners for each in hear.__self__._open]  # type: ignore[attr-defined]


@pytest.mark.parametrize("how", ["grant", "session", "account", "elsewhere"])
async def test_a_stream_ends_with_its_grant_its_session_or_its_vault_and_tells_nothing_more(
    stage: Stage, quick: None, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = await stage.person(f"carl-{how}", Role.READER)
    await stage.person(f"new-{how}", Role.WRITER)
    async with listening(stage, guest) as stream:
        monkeypatch.setattr(live_streams, "HEARTBEAT_S", 600)
        if how == "grant":
            await stage.end_grant(f"carl-{how}")
        elif how == "session":
            await stage.services.control.write(lambda tx: tx.run("DELETE FROM browser_sessions"))
        elif how == "account":
            await stage.services.control.write(lambda tx: accounts.disable(tx, f"carl-{how}", 0))
        else:
            monkeypatch.setattr(Services, "holds", lambda services, vault_id: False)
        streams_of(stage)[0].changed.set()
        assert await stream.next() is None


async def test_so_many_pages_of_one_person_are_told_and_no_more(stage: Stage, quick: None) -> None:
    guest, other = await stage.person("dora", Role.READER), await stage.person("emil", Role.READER)
    async with listening(stage, guest), listening(stage, guest), listening(stage, guest), listening(stage, guest):
        refused = await guest.open("/ui/v/main/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        async with listening(stage, other) as stream:
            assert stream.status == 200
    async with listening(stage, guest) as stream:
        assert stream.status == 200


async def test_what_is_no_vault_of_theirs_has_no_stream(stage: Stage) -> None:
    guest = await stage.person("fred", Role.READER)
    theirs, nobodys = [await guest.open(f"/ui/v/{vault}/events") for vault in ("other", "nope")]
    assert theirs.status_code == nobodys.status_code == 404
    assert theirs.text == nobodys.text
    assert (await stage.browser().open("/ui/v/main/events")).status_code == 303


async def test_a_page_that_asks_by_itself_keeps_nobody_signed_in(stage: Stage) -> None:
    guest = await stage.person("gina", Role.READER)

    async def seen() -> str:
        kept = "SELECT seen_at FROM browser_sessions WHERE person = 'gina'"
        return str(await stage.services.control.read(lambda tx: tx.value(kept)))

    old = "2026-01-01T00:00:00.000Z"
    await stage.services.control.write(
        lambda tx: tx.run("UPDATE browser_sessions SET seen_at = :old WHERE person = 'gina'", {"old": old})
    )
    assert (await guest.open("/ui/v/main/work")).status_code == 303, "it has run idle"
    await stage.services.control.write(
        lambda tx: tx.run(
            "UPDATE browser_sessions SET seen_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-1 hour')"
            " WHERE person = 'gina'"
        )
    )
    before = await seen()
    assert (await guest.open("/ui/v/main/work")).status_code == 200
    assert await seen() == before
    await guest.open("/ui/v/main/")
    assert await seen() > before


# The streams themselves, without a page


def heard(session: str = "s", tool: str = "recall", *, writes: bool = False) -> HeardCall:
    return HeardCall("v", session, "agent", tool, writes)


async def always() -> bool:
    return True


def begin(streams: LiveStreams, listeners: CallListeners, person: str = "p") -> AsyncIterator[str]:
    return streams.serve(LiveStream("v", person), listeners, always, lambda: None)


async def test_after_an_event_comes_a_pause_however_much_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_streams, "GAP_S", 600)
    streams, listeners = LiveStreams(), CallListeners()
    lines = begin(streams, listeners)
    await anext(lines)
    listeners.tell(heard("one"))
    assert await anext(lines) == CHANGE
    listeners.tell(heard("two"))
    late = asyncio.ensure_future(anext(lines))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not late.done()
    streams.close()
    with pytest.raises(StopAsyncIteration):
        await late


async def test_a_shutdown_ends_every_stream_and_admits_no_more() -> None:
    streams, listeners = LiveStreams(), CallListeners()
    opened = [begin(streams, listeners, f"p{number}") for number in range(3)]
    for each in opened:
        await anext(each)
    streams.close()
    assert not streams.has_room("p9")
    for each in (*opened, begin(streams, listeners, "p9")):
        assert [line async for line in each] == []
    assert not listeners


async def test_the_bound_holds_for_those_who_come_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_streams, "IN_ALL", 2)
    streams, listeners = LiveStreams(), CallListeners()
    come = [begin(streams, listeners, f"p{number}") for number in range(5)]
    said = [await anext(each, "refused") for each in come]
    assert said.count("refused") == 3
    for each in come:
        await each.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("after", "call", "tells"),
    [
        (0.0, heard("known"), False),
        (live_streams.QUIET_S, heard("known"), True),
        (0.0, heard("new"), True),
        (0.0, heard("known", "claims", writes=True), True),
        (0.0, heard("known", "remember", writes=True), False),
        (0.0, HeardCall("v", "page", "console", "search", writes=False), False),
        (0.0, HeardCall("w", "new", "agent", "recall", writes=False), False),
    ],
)
async def test_news_is_what_one_would_see(after: float, call: HeardCall, tells: bool) -> None:
    now = 1000.0
    streams, stream = LiveStreams(lambda: now), LiveStream("v", "p")
    lines = streams.serve(stream, CallListeners(), always, lambda: None)
    await anext(lines)
    streams.hear(heard("known"))
    stream.changed.clear()
    now += after
    streams.hear(call)
    assert stream.changed.is_set() is tells
    await lines.aclose()


async def test_what_it_listens_for_are_tools() -> None:
    assert {each.name for each in discover()} >= live_streams.TOLD
