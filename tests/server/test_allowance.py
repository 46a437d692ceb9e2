"""Limits of caller and vault, as a caller meets them.

Covers vaults.domain.memories.stored_totals.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from auth.grants import set_grant
from auth.licence_sign import LicenceRequest, make_keys, sign_licence
from auth.plan_holders import PlanHolder, set_plan
from auth.principal import owner
from auth.roles import Role
from auth.settings import PlanSettings
from server.allowance import StoreQuota
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.importing import import_jsonl
from tests.noted import PATIENCE_S
from vaults.domain.actors import Actor
from vaults.domain.import_export.source_import import ImportTally
from vaults.errors import QuotaExceeded


async def person(services: Services, name: str, role: Role = Role.WRITER) -> Asking:
    """Somebody who calls over HTTP."""
    await services.access_cache.write(lambda tx: set_grant(tx, name, "local", "main", role))
    return asker(services, Caller(local(name), "main", role, "http"))


async def bounds(ask: Asking) -> dict[tuple[str, str], dict[str, Any]]:
    """What status shows of limits."""
    limits = (await ask("status")).content["limits"]
    return {(each["what"], each["scope"]): each for each in limits.get("bounds", ())}


async def stored(ask: Asking, count: int, start: int = 0, **more: Any) -> list[str]:
    """Ids of so many new memories."""
    outcomes = [await ask("remember", content=f"fact number {start + n}", **more) for n in range(count)]
    assert all(outcome.ok for outcome in outcomes), outcomes
    return [outcome.content["id"] for outcome in outcomes]


async def took(ask: Asking, content: str) -> bool:
    """Whether there was room for it."""
    return (await ask("remember", content=content)).ok


async def soon(look: Callable[[], Awaitable[object]]) -> None:
    """Wait until what is looked at is there."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if await look():
                return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ({"limits.memories": 2}, {"what": "memories", "scope": "vault", "limit": 2, "used": 2, "left": 0}),
        ({"limits.stores_per_day": 2}, {"what": "stores_per_day", "scope": "principal", "limit": 2, "left": 0}),
        ({"limits.vault_size": "10KB"}, {"what": "size", "scope": "vault", "limit": 10_000, "left": 0}),
    ],
)
async def test_a_store_beyond_a_limit_is_refused_with_what_is_left_and_reading_goes_on(
    opening: Opening, flags: dict[str, object], what: dict[str, object]
) -> None:
    async with opening(flags) as services:
        ask = asker(services)
        outcomes = [await ask("remember", content=f"number {n}") for n in range(3)]
        assert outcomes[-1].code == "quota_exceeded"
        details = outcomes[-1].content["error"]["details"]
        assert details.items() >= what.items()
        assert ("resets_at" in details) == (details["what"] == "stores_per_day")
        assert (await ask("recall", query="number")).ok


async def test_a_rate_says_when_to_come_back(opening: Opening) -> None:
    async with opening({"limits.calls_per_minute": 2}) as services:
        ask = asker(services)
        codes = [(await ask("status")).code for _ in range(3)]
        assert codes == [None, None, "rate_limited"]
        assert (await ask("status")).content["error"]["details"]["retry_after_s"] > 0


@pytest.mark.parametrize("flags", [{"limits.memories": 20}, {"limits.stores_per_day": 20}, {"limits.plan": "free"}])
async def test_many_writers_at_once_do_not_pass_a_limit(opening: Opening, flags: dict[str, object]) -> None:
    async with opening(flags) as services:
        ask = asker(services)
        outcomes = await asyncio.gather(*(ask("remember", content=f"number {n}") for n in range(32)))
        assert sum(outcome.ok for outcome in outcomes) == 20
        assert (await ask("status")).content["memories"]["living"] == 20


async def test_a_full_vault_takes_what_replaces_and_again_what_is_archived_or_purged(opening: Opening) -> None:
    async with opening({"limits.memories": 3}) as services:
        ask = asker(services)
        one, two, three = await stored(ask, 3)
        assert (await ask("memory_supersede", id=one, content="another fact")).ok
        assert (await ask("remember", content="more")).code == "quota_exceeded"
        assert (await ask("memory_forget", ids=[two])).ok
        await stored(ask, 1, start=10)
        assert (await ask("memory_update", id=two, tier="warm")).code == "quota_exceeded"
        assert (await ask("memory_forget", ids=[three], purge=True, confirmed=True)).ok
        assert (await ask("memory_update", id=two, tier="warm")).ok


async def test_what_stores_nothing_uses_nothing_up(opening: Opening) -> None:
    async with opening({"limits.stores_per_day": 4}) as services:
        ask = asker(services)
        twice = await asyncio.gather(*(ask("remember", content="said at once by several") for _ in range(3)))
        assert len({outcome.content["id"] for outcome in twice}) == 1
        assert (await ask("memory_supersede", id=twice[0].content["id"], content="newer")).ok
        for _ in range(3):
            assert (await ask("memory_supersede", id=twice[0].content["id"], content="x")).code == "conflict"
        assert (await bounds(ask))["stores_per_day", "principal"]["used"] == 2
        assert (await ask("remember", content="said later")).ok
        assert (await ask("remember", content="with a key", idempotency_key="k")).ok
        again = await ask("remember", content="with a key", idempotency_key="k")
        assert again.ok, "the same request again is answered, also when the day is used up"
        assert (await ask("remember", content="one more")).code == "quota_exceeded"


async def test_replacing_a_memory_counts_as_a_store_of_the_day(opening: Opening) -> None:
    async with opening({"limits.stores_per_day": 2}) as services:
        ask = asker(services)
        (one,) = await stored(ask, 1)
        assert (await ask("memory_supersede", id=one, content="newer")).ok
        assert (await ask("remember", content="more")).code == "quota_exceeded"


async def test_the_day_goes_on_after_a_restart(opening: Opening) -> None:
    async with opening({"limits.stores_per_day": 2}) as services:
        await stored(asker(services), 2)
    async with opening({"limits.stores_per_day": 2}) as services:
        assert (await asker(services)("remember", content="more")).code == "quota_exceeded"


async def test_a_callers_plan_bounds_that_caller_alone(opening: Opening) -> None:
    async with opening({"plans.guest": {"memories": 2, "size": "1KB"}}) as services:
        alice, bob = await person(services, "alice"), await person(services, "bob")
        await services.access_cache.write(lambda tx: set_plan(tx, PlanHolder("subject", "alice", "local"), "guest"))
        await stored(alice, 1)
        assert (await alice("remember", content="x" * 1001)).content["error"]["details"]["what"] == "size"
        await stored(alice, 1, start=1, visibility="private")
        assert (await alice("remember", content="a third")).content["error"]["details"]["scope"] == "principal"
        await stored(bob, 3, start=10)
        assert await bounds(bob) == {}


async def test_documents_take_room_and_none_is_stored_when_it_is_used_up(opening: Opening) -> None:
    async with opening({"plans.guest": {"size": "1KB"}}) as services:
        alice = await person(services, "alice")
        await services.access_cache.write(lambda tx: set_plan(tx, PlanHolder("subject", "alice", "local"), "guest"))
        lines = [{"kind": "document", "external_id": each, "parts": [{"text": "word " * 300}]} for each in "abc"]
        assert (await alice("transcripts", action="push", lines=lines[:1])).ok
        refused = await alice("transcripts", action="push", lines=lines[1:])
        assert refused.content["error"]["details"]["what"] == "size"
        known = await alice("transcripts", action="push", lines=lines[:1])
        assert known.content["counts"] == {"document": {"known": 1}}


async def test_a_vaults_plan_bounds_all_who_store_there_and_no_other_vault(opening: Opening) -> None:
    flags = {"plans.small": {"stores_per_day": 3, "calls_per_minute": 100}}
    async with opening(flags, vaults=("main", "other")) as services:
        alice, bob = await person(services, "alice"), await person(services, "bob")
        await services.access_cache.write(lambda tx: set_plan(tx, PlanHolder("vault", "main"), "small"))
        await stored(alice, 2)
        await stored(bob, 1, start=10)
        assert (await alice("remember", content="more")).content["error"]["details"]["scope"] == "vault"
        await stored(asker(services, Caller(local("owner"), "main", Role.ADMIN, "http")), 0)
        assert (await bounds(alice))["calls_per_minute", "vault"]["used"] == 5


async def test_limits_tell_nobody_what_others_keep_privately(opening: Opening) -> None:
    async with opening({"limits.memories": 5, "plans.day": {"memories": 5, "stores_per_day": 5}}) as services:
        alice, bob = await person(services, "alice"), await person(services, "bob")
        await services.access_cache.write(lambda tx: set_plan(tx, PlanHolder("vault", "main"), "day"))
        await stored(alice, 1)
        before = await bounds(alice)
        await stored(bob, 4, start=10, visibility="private")
        assert await bounds(alice) == before
        assert before["memories", "vault"].items() >= {"used": 1, "left": 4}.items()
        assert before["stores_per_day", "vault"]["used"] == 1
        owners = await bounds(asker(services))
        assert owners["memories", "vault"]["used"] == owners["stores_per_day", "vault"]["used"] == 5
        refused = (await alice("remember", content="full")).content["error"]["details"]
        assert (refused["used"], refused["left"]) == (5, 0)


async def test_status_says_what_is_left_until_when(opening: Opening) -> None:
    async with opening({"limits.plan": "free"}) as services:
        ask = asker(services)
        await stored(ask, 3)
        limits = (await ask("status")).content["limits"]
        assert (limits["plan"], limits["vault_plan"]) == ("free", "free")
        found = await bounds(ask)
        assert found["stores_per_day", "principal"].items() >= {"limit": 20, "used": 3, "left": 17}.items()
        assert found["stores_per_day", "principal"]["resets_at"] == services.daily_usage.resets_at
        assert found["memories", "vault"].items() >= {"limit": 200, "used": 3, "left": 197}.items()


GROWING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("remember", {"content": "one more"}),
    ("note_write", {"path": "plan.md", "content": "# Plan\n", "mode": "create"}),
    ("note_edit", {"path": "plan.md", "action": "add", "section": "Plan", "content": "more"}),
    ("checkpoint", {"reason": "milestone", "state": {"done": 1}}),
)


async def test_purging_makes_room_in_a_vault_whose_size_is_used_up(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services)
        await stored(ask, 1)
        big = await ask("remember", content="long " * 10_000)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            size = await vault.db.read(lambda tx: tx.size())
    async with opening({"limits.vault_size": f"{size - 20_000}B"}) as services:
        ask = asker(services)
        for tool, arguments in GROWING:
            assert (await ask(tool, **arguments)).code == "quota_exceeded", tool
        assert (await ask("memory_forget", ids=[big.content["id"]], purge=True, confirmed=True)).ok
        for tool, arguments in GROWING:
            assert (await ask(tool, **arguments)).ok, tool


async def test_a_plan_set_by_another_process_holds_on_a_running_server(opening: Opening) -> None:
    async with opening() as services, opening() as other:
        ask = asker(services)
        await other.control.write(lambda tx: set_plan(tx, PlanHolder("vault", "main"), "free"))
        await soon(lambda: bounds(ask))


async def test_a_licence_laid_there_and_taken_away_is_followed_while_the_server_runs(
    opening: Opening, tmp_path: Path
) -> None:
    private, public = make_keys()
    (tmp_path / "key.pem").write_bytes(public)
    request = LicenceRequest("acme", 3600, {"free": PlanSettings(stores_per_day=None, memories=None)})
    async with opening({"limits.plan": "free", "limits.licence_key_file": "key.pem"}) as services:
        ask = asker(services)
        await stored(ask, 20)
        assert (await ask("remember", content="beyond")).code == "quota_exceeded"
        (tmp_path / "licence.jwt").write_text(sign_licence(private, request))
        await soon(lambda: took(ask, "beyond"))
        assert "lifts the limits of free" in (await ask("status")).content["limits"]["licence"]
        (tmp_path / "licence.jwt").unlink()
        await asyncio.to_thread(services.licence.refresh)
        assert (await ask("remember", content="beyond that")).code == "quota_exceeded"


@pytest.mark.parametrize("text", ["", "nonsense", sign_licence(make_keys()[0], LicenceRequest("x", 60, admin=True))])
async def test_a_licence_that_does_not_hold_stops_no_start_and_lifts_nothing(
    opening: Opening, tmp_path: Path, text: str
) -> None:
    (tmp_path / "licence.jwt").write_text(text)
    (tmp_path / "key.pem").write_bytes(make_keys()[1])
    async with opening({"limits.memories": 1, "limits.licence_key_file": "key.pem"}) as services:
        ask = asker(services)
        await stored(ask, 1)
        assert (await ask("remember", content="beyond")).code == "quota_exceeded"
        assert "licence" in (await ask("status")).content["limits"]


@pytest.mark.parametrize("flags", [{"limits.stores_per_day": 4}, {"limits.memories": 4}])
async def test_an_import_stores_as_much_as_fits(opening: Opening, tmp_path: Path, flags: dict[str, object]) -> None:
    lines = [json.dumps({"content": f"line {n}", "external_id": str(n)}) for n in range(9)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    async with opening(flags) as services, services.pool.lease(services.registry_cache.entry("main")) as vault:
        quota, tallies = StoreQuota(services, owner("cli"), vault, "owner"), list[ImportTally]()
        for _ in range(2):  # again, it knows what is there, and is refused the rest
            with pytest.raises(QuotaExceeded):
                await import_jsonl(vault, Actor("owner", "owner"), tmp_path / "in.jsonl", tallies.append, quota)
        assert [tally.stored for tally in tallies] == [4, 0]
        assert [tally.known for tally in tallies] == [0, 4]
