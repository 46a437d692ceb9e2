"""Listings kept as bytes: what a hit may share with another request, and what not."""

from __future__ import annotations

import json

import pytest

from auth.roles import Role
from server.http.listing_cache import ListingCache, parse_listing_request
from server.http.request_body import JsonBody
from tests.server.http.serving import BOTH, ERAS, MODERN, enveloped, raw, served

VIEW = (Role.READER, "agent", "auto")
HEADERS = [(b"host", b"x"), (b"accept", b"application/json"), (b"mcp-method", b"tools/list")]


def asked(number=1, view=VIEW, headers=HEADERS, params=None, method="tools/list"):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
    return parse_listing_request({"headers": headers}, view, JsonBody(json.dumps(message).encode()))


class Sent(list):
    async def __call__(self, message):
        self.append(message)

    @property
    def body(self):
        return b"".join(each.get("body", b"") for each in self)


async def fill(cache, question, body, status=200, kind=b"application/json"):
    send = cache.recording(question, Sent())
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", kind)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def listing(number, text="a"):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"tools": [text]}}, separators=(",", ":")).encode()


@pytest.mark.parametrize("number", [2, 0, -5, "a", "", "x" * 200, "{}", 2**52])
async def test_a_hit_differs_in_the_id_alone(number):
    cache = ListingCache()
    await fill(cache, asked(1), listing(1))
    sent = Sent()
    assert await cache.answer(asked(number), sent)
    assert sent.body == listing(number)
    assert (b"content-length", str(len(listing(number))).encode()) in sent[0]["headers"]


@pytest.mark.parametrize(
    "other",
    [
        asked(view=(Role.WRITER, "agent", "auto")),
        asked(view=(Role.READER, "full", "auto")),
        asked(view=(Role.READER, "agent", "off")),
        asked(params={"cursor": "x"}),
        asked(params={"_meta": {"progressToken": 1}}),
        asked(headers=[*HEADERS, (b"mcp-protocol-version", b"2025-11-25")]),
        asked(headers=[*HEADERS, (b"mcp-method", b"tools/list")]),
        asked(headers=[(b"accept", b"text/event-stream")]),
        asked(headers=[*HEADERS, (b"content-type", b"text/plain")]),
    ],
)
async def test_whatever_else_a_request_says_is_another_key(other):
    cache = ListingCache()
    await fill(cache, asked(), listing(1))
    assert not await cache.answer(other, Sent())


@pytest.mark.parametrize("number", [None, True, 1.5, [1], "ü", 'a"b', "a\\b", "a\n", "x" * 201, 2**53])
def test_ids_that_encoders_may_write_differently_are_left_alone(number):
    assert asked(number) is None


async def test_a_list_of_prompts_is_kept_beside_the_list_of_tools():
    cache, prompts = ListingCache(), asked(method="prompts/list")
    await fill(cache, asked(), listing(1))
    assert not await cache.answer(prompts, Sent())
    await fill(cache, prompts, listing(1, "b"))
    sent = Sent()
    assert await cache.answer(asked(7, method="prompts/list"), sent)
    assert sent.body == listing(7, "b")


def test_an_id_that_stands_there_twice_is_left_alone():
    assert asked(7, params={"id": 7}) is None
    assert asked(7, params={"id": 8}) is not None
    assert parse_listing_request({"headers": HEADERS}, VIEW, JsonBody(b'{"method":"tools/list","id"  :  1}')) is None


@pytest.mark.parametrize("body", [b"", b'"tools/list"', b"[]", b'{"method": "tools/list"', b'{"a":"tools/list"}'])
def test_anything_else_is_no_question(body):
    assert parse_listing_request({"headers": HEADERS}, VIEW, JsonBody(body)) is None
    assert asked(method="tools/call", params={"name": "tools/list"}) is None


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (400, b"application/json", listing(1)),
        (200, b"text/event-stream", listing(1)),
        (200, b"application/json", b'{"jsonrpc":"2.0","id":1,"error":{}}'),
        (200, b"application/json", listing(2)),
        (200, b"application/json", listing(1, "a" * (1 << 20))),
    ],
)
async def test_only_whole_good_answers_are_kept(status, kind, body):
    cache = ListingCache()
    await fill(cache, asked(), body, status, kind)
    assert not await cache.answer(asked(), Sent())


async def test_an_answer_in_pieces_is_passed_on_and_not_kept():
    cache, through = ListingCache(), Sent()
    send = cache.recording(asked(), through)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": listing(1)[:20], "more_body": True})
    await send({"type": "http.response.body", "body": listing(1)[20:]})
    assert through.body == listing(1)
    assert not await cache.answer(asked(), Sent())


async def test_what_was_asked_for_least_recently_goes_first():
    cache = ListingCache(size=2)
    first, second, third = (asked(view=(Role.READER, preset, "auto")) for preset in ("agent", "notes", "full"))
    for each in (first, second):
        await fill(cache, each, listing(1))
    assert await cache.answer(first, Sent())
    await fill(cache, third, listing(1))
    assert [await cache.answer(each, Sent()) for each in (first, second, third)] == [True, False, True]


async def test_a_server_answers_the_same_bytes_from_both_and_keeps_roles_apart(tmp_path):
    async with served(tmp_path / "data") as site:
        site.tokens["reader"] = await site.ground.token("reader", Role.READER, "main")
        for era in ERAS:
            async with raw(site, "owner") as owner, raw(site, "reader") as reader:
                first = await owner.post(owner.message("tools/list", era=era, number=1), era=era)
                again = await owner.post(owner.message("tools/list", era=era, number="other"), era=era)
                assert first.content.replace(b'"id":1', b'"id":"other"', 1) == again.content
                drop = {"content-length", "date"}
                left, right = ({k: v for k, v in a.headers.items() if k not in drop} for a in (first, again))
                assert left == right
                readers = await reader.post(reader.message("tools/list", era=era, number=1), era=era)
                assert b'"remember"' in first.content
                assert b'"remember"' not in readers.content


async def test_a_hit_passes_the_gate_first(tmp_path):
    async with served(tmp_path / "data") as site:
        async with raw(site, "owner") as owner:
            message = enveloped("tools/list")
            assert (await owner.post(message)).status_code == 200
            evil = await owner.post(message, host="evil.example")
            origin = await owner.post(message, origin="https://evil.example")
            nobody = await owner.post(message, authorization="Bearer x")
            assert [each.status_code for each in (evil, origin, nobody)] == [421, 403, 401]
            mismatch = await owner.http.post(
                owner.path,
                json=message,
                headers={"accept": BOTH, "mcp-protocol-version": MODERN, "mcp-method": "tools/call"},
            )
            assert mismatch.status_code == 400


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("method", ["tools/list", "resources/templates/list"])
async def test_a_listing_counts_like_a_call_whether_it_is_kept_or_not(tmp_path, era, method):
    async with served(tmp_path / "data", **{"limits.calls_per_minute": 4}) as site, raw(site, "owner") as owner:
        answers = [await owner.post(owner.message(method, era=era), era=era) for _ in range(6)]
        assert ["result" in answer.json() for answer in answers] == [True] * 4 + [False] * 2
        kept = answers[-1]
        never = await owner.post(owner.message(method, {"cursor": "x"}, era), era=era)
        assert kept.status_code == never.status_code
        errors = [answer.json()["error"] for answer in (kept, never)]
        assert {(error["code"], error["data"]["code"]) for error in errors} == {(-32603, "rate_limited")}
        assert errors[0]["data"]["details"]["retry_after_s"] > 0
        assert (await owner.call("status", era=era))["structuredContent"]["error"]["code"] == "rate_limited"
