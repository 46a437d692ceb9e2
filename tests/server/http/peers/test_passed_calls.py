"""Calls that begin in one server and are made in another: of pages, of commands, and across vaults.

Covers server.http.peers.call_messages, server.http.peers.call_endpoints, server.call_routes.
"""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace

import pytest

from auth.principal import Principal, owner
from auth.roles import Role
from server.call import Caller
from server.command_answers import answer_command
from server.dispatch import CallOutcome, dispatch
from server.federated_search import search_here
from server.http.peers.call_messages import (
    PassedCaller,
    PassedPrincipal,
    dump_answer,
    dump_failure,
    dump_outcome,
    load_answer,
    load_failure,
    load_outcome,
)
from server.tool_spec import ResourceLink
from tests.server.http import odd_tools
from tests.server.http.serving import raw
from tests.server.http.two_servers import two_servers
from tests.work import PATIENCE_S
from vaults.domain.retrieval.hybrid_search import SearchRequest
from vaults.errors import NotFound, Overloaded, VaultQuarantined, VaultUnavailable
from vaults.search.filters import SearchFilter


@pytest.fixture
async def pair(tmp_path, monkeypatch):
    odd_tools.forget()
    async with two_servers(tmp_path, monkeypatch) as running:
        yield running


def test_everything_of_a_caller_is_passed_but_progress():
    principal = Principal(
        "ann", "https://idp", frozenset({"ann", "group:x"}), "t1", frozenset({"main"}), Role.WRITER, Role.READER,
        "agent", 99.5, "f1", True,
    )  # fmt: skip
    caller = Caller(
        principal, "main", Role.WRITER, "http", "full", "ask", "/src", "s1", "console", "192.0.2.1", "c1", "2026-07-28",
        "r1", person="agreed", form="data", looks=True,
    )  # fmt: skip
    passed = PassedCaller.model_validate_json(PassedCaller.model_validate(caller).model_dump_json())
    assert passed.to_caller() == caller
    assert {each.name for each in fields(Caller)} - {"progress"} == set(PassedCaller.model_fields)
    assert {each.name for each in fields(Principal)} - {"key"} == set(PassedPrincipal.model_fields)


def test_an_outcome_comes_through_as_it_was():
    for outcome in (
        CallOutcome({"a": [1, 2.5, None, "\u00fc"]}, "text", links=[ResourceLink("graph://x", "x", "image/png")]),
        CallOutcome({"error": {"code": "not_found"}}, "gone", "not_found", unknown_tool=True, question="sure?"),
        CallOutcome({"half": "\ud800"}, "\ud800"),
    ):
        assert load_outcome(dump_outcome(outcome)) == replace(outcome, links=list(outcome.links))
    with pytest.raises(VaultUnavailable):
        load_outcome(b"{}")


def test_a_failure_is_raised_as_it_was_there():
    for failure in (
        Overloaded("full", retry_after_s=2.0),
        VaultQuarantined("damaged", hint="restore it", reason="x"),
        VaultUnavailable("moving"),
    ):
        found = load_failure(dump_failure(failure))
        assert (type(found), found.message, found.hint, found.details) == (
            type(failure), failure.message, failure.hint, failure.details,
        )  # fmt: skip
    assert isinstance(load_failure(b"nonsense"), VaultUnavailable)


async def test_the_answer_of_a_search_comes_through_as_it_was(pair):
    async with raw(pair.back, "both") as there:
        for number in range(5):
            await there.call("remember", {"content": f"a bittern, number {number}", "tags": ["x"]})
    request = SearchRequest("bittern number", SearchFilter("owner", "2100"), limit=4)
    answer = await search_here(pair.services["back"], "main", request)
    assert len(answer.shown) == 4
    assert load_answer(dump_answer(answer)) == answer


async def test_a_search_over_several_vaults_asks_their_holders(pair):
    async with raw(pair.front, "both") as main, raw(pair.front, "both", "near") as near:
        await main.call("remember", {"content": "a bittern in the reeds"})
        await near.call("remember", {"content": "a bittern on a post"})
        for one in (main, near):
            found = (await one.call("search", {"query": "bittern", "vaults": ["*"]}))["structuredContent"]
            assert sorted(hit["vault"] for hit in found["hits"]) == ["main", "near"]
            assert not [warning for warning in found["warnings"] if "could not" in warning]
        pair.table.failure = VaultUnavailable("nobody knows")
        found = (await near.call("search", {"query": "bittern", "vaults": ["*"]}))["structuredContent"]
        assert [hit["vault"] for hit in found["hits"]] == ["near"]
        assert "vault main could not be searched (vault_unavailable)" in found["warnings"]
    assert pair.open_at("front") == {"near"}


async def test_what_a_vault_elsewhere_holds_is_asked_of_its_holder(pair):
    async with raw(pair.back, "both") as there, raw(pair.front, "both", "near") as near:
        await there.call("remember", {"content": "a bittern"})
        arguments = {"action": "info", "name": "main"}
        (ours,) = (await near.call("vaults", arguments))["structuredContent"]["vaults"]
        (theirs,) = (await there.call("vaults", arguments))["structuredContent"]["vaults"]
        assert ours == theirs
        assert ours["memories"] == 1


async def test_a_command_at_either_server_reaches_the_vault(pair):
    for name in ("front", "back"):
        answer = await answer_command(pair.services[name], {"vault": "main", "tool": "noop", "arguments": {}})
        assert answer == {"ok": True, "content": {"text": "nothing"}}
    gone = await answer_command(pair.services["front"], {"vault": "gone", "tool": "noop", "arguments": {}})
    assert not gone["ok"]
    assert "main" not in pair.open_at("front")


async def test_a_call_that_is_given_up_ends_where_it_is_made(pair):
    services = pair.services["front"]
    caller = Caller(owner("loopback"), "main", Role.ADMIN, "http", preset="full")
    call = asyncio.create_task(dispatch(services, caller, "write_slowly", {"word": "x"}))
    await asyncio.wait_for(odd_tools.started.wait(), PATIENCE_S)
    call.cancel()
    await asyncio.wait_for(odd_tools.ended.wait(), PATIENCE_S)


async def test_grants_are_asked_again_where_the_call_is_made(pair):
    caller = Caller(Principal("nobody", "local", frozenset({"nobody"})), "main", Role.ADMIN, "http", preset="full")
    outcome = await dispatch(pair.services["front"], caller, "noop", {})
    assert outcome.code == "not_found"
    with pytest.raises(NotFound):
        pair.services["front"].registry_cache.entry("gone")


async def test_a_vault_that_is_handed_over_meanwhile_is_found_where_it_is(pair):
    caller = Caller(owner("loopback"), "main", Role.ADMIN, "http", preset="full")
    assert (await dispatch(pair.services["front"], caller, "noop", {})).ok
    pair.standing["front"].believes.add("main")
    assert (await dispatch(pair.services["front"], caller, "noop", {})).ok
