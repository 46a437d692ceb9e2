"""The endpoint engine against servers on loopback that speak each protocol, well and badly.

Covers vaults.embed.endpoint_connection, vaults.embed.endpoint_engine, vaults.embed.endpoint_protocols.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from tests.embedding_servers import KEY, PATHS, EmbeddingServer, Seen, answered, embedding_server
from tests.fakes import HashEmbedder
from tests.vaults.embed.scripted import Clock
from tests.work import PATIENCE_S
from vaults.embed.endpoint_connection import ATTEMPTS, MAX_FRAME, MAX_NUMBER, EndpointConnection
from vaults.embed.endpoint_engine import MAX_CHARACTERS, PROBE_AGAIN_S, EndpointEmbedder
from vaults.embed.endpoint_stamps import PROBE
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable
from vaults.observer import NullObserver
from vaults.settings import EmbeddingSettings

Reply = Callable[[Seen], Awaitable[Response | None]]


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as running:
        yield running


def settings_for(server: EmbeddingServer, path: str = "/api/embed", **more: Any) -> EmbeddingSettings:
    fields = {"engine": "endpoint", "endpoint": server.url(path), "model": "some-model", **more}
    return EmbeddingSettings.model_validate(fields)


async def no_wait(_seconds: float) -> None:
    """Between attempts."""


def connect(settings: EmbeddingSettings) -> EndpointConnection:
    return EndpointConnection(settings, wait=no_wait)


@asynccontextmanager
async def asking(
    settings: EmbeddingSettings, stamps: Path | None = None, clock: Clock | None = None
) -> AsyncIterator[EmbeddingService]:
    """A service on the endpoint that never pauses between attempts; its ``clock`` stands still."""
    clock = clock or Clock()

    def load() -> EndpointEmbedder:
        return EndpointEmbedder(settings, stamps, connect=connect, clock=clock)

    service = EmbeddingService(settings, NullObserver(), load, clock=clock)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield service
    finally:
        await service.close()


def once_known(reply: Reply) -> Reply:
    """``reply`` to all but the text by which models are known."""

    async def instead(seen: Seen) -> Response | None:
        return None if seen.texts == [PROBE] else await reply(seen)

    return instead


def always(make: Callable[[], Response]) -> Reply:
    async def reply(_: Seen) -> Response:
        return make()

    return reply


def vectors_changed(change: Callable[[Any, list[str]], Any]) -> Reply:
    """The right vectors, after something was done to them."""

    async def reply(seen: Seen) -> Response:
        rows = HashEmbedder().embed(seen.texts).tolist()
        body = json.dumps({"embeddings": change(rows, seen.texts)})
        return Response(body, media_type="application/json")

    return reply


# What is sent, and what comes of it.


@pytest.mark.parametrize("path", PATHS)
async def test_each_protocol_gives_the_vectors_of_the_texts_in_their_order(server: EmbeddingServer, path: str) -> None:
    texts = [f"{'word ' * (n % 5)}number {n}" for n in range(70)]
    async with asking(settings_for(server, path)) as service:
        found = await service.texts(texts, urgent=True)
        query = await service.query(texts[3])
        state, identity = service.state(), service.identity
    np.testing.assert_allclose(found, HashEmbedder().embed(texts), atol=1e-6)
    np.testing.assert_allclose(query, found[3], atol=1e-6)
    assert (state.status, state.engine) == ("ready", "endpoint")
    assert identity is not None
    assert (identity.name, identity.width) == ("some-model", 32)
    assert max(len(each.texts) for each in server.seen) == 32
    assert {each.path for each in server.seen} == {path}


SENT: dict[str, Any] = {
    "/api/embed": {"model": "some-model", "input": ["a ? b"], "truncate": True},
    "/v1/embeddings": {"model": "some-model", "input": ["a ? b"], "encoding_format": "float"},
    "/embed": {"inputs": ["a ? b"], "normalize": True, "truncate": True},
}
"""By path: nothing but texts, the model's name and the form of the answer."""


@pytest.mark.parametrize("path", PATHS)
async def test_nothing_is_sent_but_the_texts(server: EmbeddingServer, path: str) -> None:
    async with asking(settings_for(server, path)) as service:
        await service.each(["a \ud800 b"], urgent=True)
    seen = server.seen[-1]
    assert seen.body == SENT[path]
    assert set(seen.headers) == {
        "host", "accept", "accept-encoding", "connection", "user-agent", "content-length", "content-type"
    }  # fmt: skip
    assert server.texts == [PROBE, "a ? b"]


async def test_a_cookie_is_not_sent_back(server: EmbeddingServer) -> None:
    async def marked(_: Seen) -> Response:
        return JSONResponse({"embeddings": [[1.0, 2.0]]}, headers={"set-cookie": "spy=1"})

    server.reply = marked
    async with asking(settings_for(server)) as service:
        await service.query("a")
    assert len(server.seen) > 1
    assert not any("cookie" in each.headers for each in server.seen)


async def test_questions_and_what_answers_them_get_the_prefixes_of_the_model(server: EmbeddingServer) -> None:
    async with asking(settings_for(server, model="nomic-embed-text:v1.5")) as service:
        await service.query("where is it?")
        await service.each(["it is here"], urgent=False)
    assert server.texts[1:] == ["search_query: where is it?", "search_document: it is here"]


async def test_of_a_long_text_the_beginning_is_sent(server: EmbeddingServer) -> None:
    async with asking(settings_for(server)) as service:
        await service.query("x" * (MAX_CHARACTERS + 1))
    assert server.texts[-1] == "x" * MAX_CHARACTERS


async def test_vectors_are_made_of_unit_length(server: EmbeddingServer) -> None:
    server.reply = vectors_changed(lambda rows, _: (np.asarray(rows) * 7).tolist())
    async with asking(settings_for(server)) as service:
        found = await service.query("a b c")
    np.testing.assert_allclose(found, HashEmbedder().embed(["a b c"])[0], atol=1e-6)


# Keys.


async def test_the_key_comes_from_its_file_and_is_read_again_after_a_failure(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    file, clock = tmp_path / "key", Clock()
    file.write_text("an old one\n")
    server.key = KEY
    async with asking(settings_for(server, api_key_file=str(file)), clock=clock) as service:
        with pytest.raises(EmbeddingUnavailable, match=r"refuses the key \(401\)"):
            await service.query("a")
        file.write_text(f"{KEY}\n")
        clock.now += 1.0
        assert await service.is_back()
        await service.query("a")
    assert server.seen[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("held", [None, b"", b"two\nlines", b"\xff"])
async def test_a_key_that_cannot_be_read_is_told(server: EmbeddingServer, tmp_path: Path, held: bytes | None) -> None:
    file = tmp_path / "key"
    if held is not None:
        file.write_bytes(held)
    async with asking(settings_for(server, api_key_file=str(file))) as service:
        with pytest.raises(EmbeddingUnavailable, match="api_key_file"):
            await service.query("a")
    assert server.seen == []


# Servers that answer something else.


STATUSES = {
    "another address": (lambda: RedirectResponse("http://127.0.0.1:1/"), "redirects"),
    "no model": (lambda: JSONResponse({"error": "pull it first"}, 404), "not the model of embedding.model"),
    "forbidden": (lambda: Response(status_code=403), "refuses the key"),
    "odd": (lambda: Response(status_code=418), "answered 418"),
    "compressed": (
        lambda: Response(gzip.compress(b"[]"), headers={"content-encoding": "gzip"}),
        "answer is compressed",
    ),
}


@pytest.mark.parametrize("kind", STATUSES)
async def test_what_is_no_answer_ends_the_call_and_says_why(server: EmbeddingServer, kind: str) -> None:
    make, reason = STATUSES[kind]
    server.reply = once_known(always(make))
    async with asking(settings_for(server)) as service:
        with pytest.raises(EmbeddingUnavailable, match=reason):
            await service.texts(["a", "b", "c"], urgent=True)
        state = service.state()
    assert (state.status, len(server.seen)) == ("failed", 2)
    assert reason in (state.reason or "")


BAD_VECTORS: dict[str, Callable[[Any, list[str]], Any]] = {
    "too narrow": lambda rows, _: [row[:-1] for row in rows],
    "one number": lambda rows, _: [[0.5] for _ in rows],
    "ragged": lambda rows, _: [row[: 31 - at] for at, row in enumerate(rows)],
    "too few": lambda rows, _: rows[:-1],
    "too many": lambda rows, _: [*rows, rows[0]],
    "none": lambda rows, _: [],
    "not numbers": lambda rows, _: [["x"] * 32 for _ in rows],
    "not a list": lambda rows, _: "vectors",
    "nan": lambda rows, _: (np.asarray(rows) * np.nan).tolist(),
    "null": lambda rows, _: [[None] * 32 for _ in rows],
    "zero": lambda rows, _: (np.asarray(rows) * 0).tolist(),
    "endless": lambda rows, _: [[1e999] * 32 for _ in rows],
}


@pytest.mark.parametrize("kind", BAD_VECTORS)
async def test_what_is_no_vector_is_never_taken_for_one(server: EmbeddingServer, kind: str) -> None:
    server.reply = once_known(vectors_changed(BAD_VECTORS[kind]))
    async with asking(settings_for(server)) as service:
        with pytest.raises(EmbeddingUnavailable):
            await service.texts(["a", "b"], urgent=True)
        with pytest.raises(EmbeddingUnavailable):
            await service.query("c")


@pytest.mark.parametrize("kind", ["too narrow", "none", "nan", "null", "zero", "not a list"])
async def test_a_server_whose_first_answer_is_no_vector_is_not_taken(server: EmbeddingServer, kind: str) -> None:
    narrow = {"too narrow": lambda rows, _: [[] for _ in rows]}
    server.reply = vectors_changed({**BAD_VECTORS, **narrow}[kind])
    async with asking(settings_for(server)) as service:
        with pytest.raises(EmbeddingUnavailable):
            await service.query("c")
        assert (service.state().status, service.identity) == ("failed", None)


@pytest.mark.parametrize("kind", ["refused", "nan"])
async def test_a_text_without_a_vector_costs_its_own_only(server: EmbeddingServer, kind: str) -> None:
    def spoil(rows: Any, texts: list[str]) -> Any:
        return [[np.nan] * 32 if text == "bad" else row for text, row in zip(texts, rows, strict=True)]

    async def reply(seen: Seen) -> Response | None:
        if "bad" not in seen.texts:
            return None
        return await vectors_changed(spoil)(seen) if kind == "nan" else Response(status_code=500)

    server.reply = reply
    async with asking(settings_for(server)) as service:
        rows = await service.each(["good", "bad", "better"], urgent=True)
        assert service.state().status == "ready"
    assert [row is None for row in rows] == [False, True, False]


async def test_an_answer_that_is_longer_than_the_vectors_can_be_is_left(server: EmbeddingServer) -> None:
    most = MAX_FRAME + 32 * MAX_NUMBER
    vector = json.dumps({"embeddings": [[0.1] * 32]}).encode()
    server.reply = once_known(always(lambda: Response(vector.ljust(most))))
    async with asking(settings_for(server)) as service:
        await service.query("a")
        server.reply = once_known(always(lambda: Response(vector.ljust(most + 1))))
        with pytest.raises(EmbeddingUnavailable, match="too long"):
            await service.query("b")


@pytest.mark.parametrize("kind", ["silent", "slow"])
async def test_a_server_that_hangs_is_left_in_time(server: EmbeddingServer, kind: str) -> None:
    over = asyncio.Event()

    async def trickle() -> AsyncIterator[bytes]:
        while not over.is_set():
            yield b" "
            await asyncio.sleep(0.01)

    async def reply(_: Seen) -> Response:
        if kind == "silent":
            await over.wait()
        return StreamingResponse(trickle())

    server.reply = reply
    connection = EndpointConnection(settings_for(server, timeout_s=0.1))
    try:
        with pytest.raises(EmbeddingUnavailable, match="did not answer within"):
            await asyncio.wait_for(asyncio.to_thread(connection.ask, ["a"]), PATIENCE_S)
    finally:
        over.set()
        await asyncio.to_thread(connection.close)


# Trying again.


async def waits_for(server: EmbeddingServer, replies: list[Response]) -> list[float]:
    """The pauses between attempts, where these are answered first."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    async def reply(_: Seen) -> Response | None:
        return replies.pop(0) if replies else None

    server.reply = reply
    connection = EndpointConnection(settings_for(server), wait=wait, jitter=lambda: 0.5)
    try:
        found = await asyncio.to_thread(connection.ask, ["a"])
        np.testing.assert_allclose(found, HashEmbedder().embed(["a"]), atol=1e-6)
    finally:
        await asyncio.to_thread(connection.close)
    return waits


async def test_a_busy_server_is_asked_again_after_growing_pauses(server: EmbeddingServer) -> None:
    busy = [Response(status_code=503), Response(status_code=429)]
    assert await waits_for(server, busy) == [0.375, 0.75]


async def test_a_server_that_says_when_is_asked_then(server: EmbeddingServer) -> None:
    assert await waits_for(server, [Response(status_code=429, headers={"retry-after": "2"})]) == [2.25]
    assert await waits_for(server, [Response(status_code=429, headers={"retry-after": "Thu, 26 Nov"})]) == [0.375]
    with pytest.raises(EmbeddingUnavailable, match="429"):
        await waits_for(server, [Response(status_code=429, headers={"retry-after": "3600"})])


async def test_attempts_are_bounded(server: EmbeddingServer) -> None:
    server.reply = once_known(always(lambda: Response(status_code=503)))
    async with asking(settings_for(server)) as service:
        with pytest.raises(EmbeddingUnavailable, match="answered 503"):
            await service.query("a")
    assert len(server.seen) == 1 + ATTEMPTS


async def test_a_server_that_dies_is_found_again(server: EmbeddingServer) -> None:
    clock = Clock()
    async with asking(settings_for(server), clock=clock) as service:
        known = await service.warm()
        await server.stop()
        with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
            await service.query("a")
        assert not await service.is_back(), "asked too soon"
        await server.start()
        clock.now += 1.0
        assert await service.is_back()
        assert (await service.query("a")).shape == (32,)
        assert service.identity == known


async def test_a_slow_server_is_not_silent_for_as_long_as_many_texts_take(server: EmbeddingServer) -> None:
    clock, statuses = Clock(), []

    async def slow(_: Seen) -> None:
        clock.now += 0.6 * settings_for(server).timeout_s
        statuses.append(service.state().status)

    server.reply = once_known(slow)
    async with asking(settings_for(server), clock=clock) as service:
        await service.warm()
        await service.texts([f"text {number}" for number in range(64)], urgent=True)
    assert statuses == ["ready"] * 3


async def test_nobody_waits_for_a_server_that_failed_and_now_hangs(server: EmbeddingServer) -> None:
    clock, asked, over = Clock(), asyncio.Event(), asyncio.Event()

    async def hang(_: Seen) -> None:
        asked.set()
        await over.wait()

    async with asking(settings_for(server), clock=clock) as service:
        server.reply = always(lambda: Response(status_code=503))
        with pytest.raises(EmbeddingUnavailable):
            await service.query("a")
        server.reply = hang
        clock.now += 1.0
        trying = asyncio.create_task(service.each(["in the background"], urgent=False))
        await asked.wait()
        for call in (service.query("b"), service.texts(["c"], urgent=True)):
            with pytest.raises(EmbeddingUnavailable, match="answered 503"):
                await call
        assert not trying.done()
        over.set()
        await trying
        await service.query("b")


# Models behind the server.


class Another(HashEmbedder):
    """Another model of any width."""

    def _vector(self, text: str) -> np.ndarray:
        return super()._vector(f"other {text[::-1]}")


async def test_a_model_that_is_exchanged_gets_an_identity_of_its_own(server: EmbeddingServer, tmp_path: Path) -> None:
    seen = []
    for model in (HashEmbedder(), Another(), HashEmbedder(), Another(width=48)):
        server.model = model
        async with asking(settings_for(server), tmp_path) as service:
            seen.append(await service.warm())
    assert seen[0] == seen[2]
    assert len({each.key for each in seen}) == 3
    assert [each.width for each in seen] == [32, 32, 32, 48]


async def test_a_model_that_rounds_otherwise_is_the_same(server: EmbeddingServer, tmp_path: Path) -> None:
    async with asking(settings_for(server), tmp_path) as service:
        known = await service.warm()
    noise = np.random.default_rng(1).normal(scale=1e-3, size=32)
    server.reply = vectors_changed(lambda rows, _: (np.asarray(rows) + noise).tolist())
    async with asking(settings_for(server, "/api/embed"), tmp_path) as service:
        assert await service.warm() == known


@pytest.mark.parametrize("model", [Another(), Another(width=48)], ids=["as wide", "wider"])
async def test_a_model_that_is_exchanged_meanwhile_is_noticed(
    server: EmbeddingServer, tmp_path: Path, model: HashEmbedder
) -> None:
    clock = Clock()
    async with asking(settings_for(server), tmp_path, clock) as service:
        known, before = await service.warm(), await service.query("a")
        server.model = model
        clock.now += PROBE_AGAIN_S
        with pytest.raises(EmbeddingUnavailable, match="has changed"):
            await service.texts(["b"], urgent=True)
        clock.now += 1.0
        await service.texts(["b"], urgent=False)
        assert service.identity not in (None, known)
        after = await service.query("a")
        assert after.shape == (model.identity.width,)
        assert not np.array_equal(before, after), "what was kept is of the other model"


async def test_other_prefixes_make_another_identity(server: EmbeddingServer, tmp_path: Path) -> None:
    keys = set()
    for more in ({}, {"query_prefix": "q: "}, {"document_prefix": "d: "}, {"model": "other"}):
        async with asking(settings_for(server, **more), tmp_path) as service:
            keys.add((await service.warm()).key)
    assert len(keys) == 4


async def test_where_nothing_can_be_remembered_no_vector_is_made(server: EmbeddingServer, tmp_path: Path) -> None:
    (tmp_path / "embedding").write_text("not a folder")
    async with asking(settings_for(server), tmp_path / "embedding") as service:
        with pytest.raises(EmbeddingUnavailable, match="cannot be read and written"):
            await service.query("a")


def test_answers_of_openai_without_numbers_are_in_order() -> None:
    from vaults.embed.endpoint_protocols import PROTOCOLS

    rows = [{"embedding": [1.0]}, {"embedding": [2.0]}]
    assert PROTOCOLS["openai"].read(json.dumps({"data": rows}).encode()) == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="numbers"):
        PROTOCOLS["openai"].read(json.dumps({"data": [{**row, "index": 0} for row in rows]}).encode())
    assert answered("/v1/embeddings", [[1.0]]).status_code == 200
