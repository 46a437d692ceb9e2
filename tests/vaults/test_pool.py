"""Opening, sharing, evicting and quarantining vaults.

Covers vaults.db.lease, vaults.pool_rounds, vaults.pool_slots, vaults.vault.
"""

from __future__ import annotations

import asyncio
import gc
import math
import shutil
import threading
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.services import Services
from server.shared_resources import SEARCH_THREADS
from tests.conftest import Asking, Opening, asker
from tests.noted import settled
from tests.work import PATIENCE_S
from vaults import pool as pools
from vaults import pool_inspections, pool_rounds, registry
from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.errors import Overloaded, StorageFull, VaultQuarantined
from vaults.index.shelves import MAIN
from vaults.pool import VaultPool
from vaults.registry import VaultEntry
from vaults.vault import Vault


def _in(services: Services, vault: str) -> Asking:
    return asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))


def count_threads() -> int:
    """Those that look at folders stay for the next look."""
    return sum(not each.name.startswith("strongroom-look_") for each in threading.enumerate())


async def _start_every_thread(services: Services) -> None:
    """Start the threads that all vaults share: a pool starts one only when the others are busy."""
    meeting = threading.Barrier(SEARCH_THREADS)
    async with services.pool.lease(services.registry_cache.entry("v0")) as vault:
        pool = vault.shared.pool
    await asyncio.gather(*(run_in(pool, meeting.wait, PATIENCE_S) for _ in range(SEARCH_THREADS)))


async def test_the_look_after_a_start_closes_what_it_opened_and_nothing_else(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that filled up meanwhile a closed vault could not be opened again."""
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 1_000.0)
    async with opening(vaults=("used", "unused")) as services:
        for name in ("used", "unused"):
            assert (await _in(services, name)("remember", content="tea is at four")).ok
        await services.pool.close_vault("unused")
        async with services.pool.lease(services.registry_cache.entry("used")) as before:
            pass
        await services.pool.rounds.sweep()
        assert services.pool.open_count == 1
        async with services.pool.lease(services.registry_cache.entry("used")) as after:
            assert after is before


async def test_twenty_vaults_come_and_go_without_a_trace(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    # What opens vaults and databases of its own, while they are counted.
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 1_000.0)
    monkeypatch.setattr(pool_inspections, "INSPECT_S", 1_000.0)
    monkeypatch.setattr(pools, "ROOM_WAIT_S", PATIENCE_S)  # closing a vault takes as long as the machine is busy
    names = tuple(f"v{n}" for n in range(20))
    async with opening({"storage.open_vaults": 4}, vaults=names) as services:

        async def use(name: str) -> None:
            ask = _in(services, name)
            assert (await ask("remember", content=f"canary of {name}")).ok
            hits = (await ask("recall", query="canary")).content["hits"]
            assert [hit["content"] for hit in hits] == [f"canary of {name}"]

        async def rest(some: tuple[str, ...]) -> None:
            """Whether a watch stands yet, or two things were read at once, must not make the difference."""
            for name in some:
                async with services.pool.lease(services.registry_cache.entry(name)) as vault:
                    assert await vault.notes.wait_for_index(PATIENCE_S)
                async with asyncio.timeout(PATIENCE_S):
                    while vault.background.is_busy:  # noqa: ASYNC110  nobody tells
                        await asyncio.sleep(0.01)
                await vault.rest()

        for name in names[:4]:
            await use(name)
        await rest(names[:4])
        await _start_every_thread(services)
        gc.collect()
        descriptors, threads = len(list(Path("/proc/self/fd").iterdir())), count_threads()
        tasks = len(asyncio.all_tasks())
        for name in names:
            await use(name)
        assert services.pool.open_count <= 4
        await rest(names[-4:])
        gc.collect()  # a closed vault is a circle of references
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 2
        assert count_threads() <= threads + 2
        assert len(asyncio.all_tasks()) <= tasks + 1


async def test_when_every_place_is_in_use_the_next_vault_is_told_when_to_come(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening({"storage.open_vaults": 1}, vaults=("a", "b")) as services:
        async with services.pool.lease(services.registry_cache.entry("a")):
            monkeypatch.setattr(pools, "ROOM_WAIT_S", 0.05)
            with pytest.raises(Overloaded):
                async with services.pool.lease(services.registry_cache.entry("b")):
                    pass
            monkeypatch.undo()
        async with services.pool.lease(services.registry_cache.entry("b")) as vault:
            assert vault.name == "b"


async def test_a_vault_that_closes_slowly_keeps_nobody_from_its_place(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening({"storage.open_vaults": 1}, vaults=("a", "b")) as services:
        pool, a, b = services.pool, services.registry_cache.entry("a"), services.registry_cache.entry("b")
        async with pool.lease(a) as vault:
            await _idle(vault)
        close, may_close = vault.close, asyncio.Event()

        async def close_slowly() -> None:
            await may_close.wait()
            await close()

        monkeypatch.setattr(vault, "close", close_slowly)
        async with pool.lease(b) as other:
            assert other.name == "b"
            await _idle(other)
        again = asyncio.create_task(_name_in(pool, a))
        while a.vault_id not in pool.slots:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0)
        assert not pool.slots[a.vault_id].opening.done()  # not before it is closed
        assert vault.lease.held
        may_close.set()
        assert await again == "a"


async def _name_in(pool: VaultPool, entry: VaultEntry) -> str:
    async with pool.lease(entry) as vault:
        assert vault.lease.held
        return vault.name


async def test_concurrent_callers_share_one_open_vault(services: Services) -> None:
    entry = services.registry_cache.entry("main")

    async def borrowed() -> int:
        async with services.pool.lease(entry) as vault:
            return id(vault)

    assert len(set(await asyncio.gather(*(borrowed() for _ in range(20))))) == 1


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[:16] = b"not a database!!"
    path.write_bytes(bytes(data))


def _drop(path: Path) -> None:
    path.unlink()


def _swap(path: Path) -> None:
    other = path.parent.parent / "healthy" / "vault.db"
    path.write_bytes(other.read_bytes())


@pytest.mark.parametrize(
    ("harm", "reason"),
    [(_flip, "damaged"), (_drop, "missing"), (_swap, "foreign")],
    ids=["damaged", "missing", "foreign"],
)
async def test_a_harmed_vault_is_quarantined_alone(opening: Opening, tmp_path: Path, harm: object, reason: str) -> None:
    async with opening(vaults=("harmed", "healthy")) as services:
        for name in ("harmed", "healthy"):
            assert (await _in(services, name)("remember", content=f"in {name}")).ok
    harm(tmp_path / "vaults" / "harmed" / "vault.db")  # type: ignore[operator]
    async with opening(vaults=()) as services:
        for _ in range(2):
            refused = await _in(services, "harmed")("recall", query="in")
            assert refused.code == "vault_quarantined"
            assert refused.content["error"]["details"]["reason"] == reason
            assert str(tmp_path) not in refused.text
        assert (await _in(services, "healthy")("recall", query="in")).content["hits"]
        assert set(services.pool.quarantined) == {"harmed"}
        assert not (harm is _drop and (tmp_path / "vaults" / "harmed" / "vault.db").exists())


async def test_a_vault_from_a_newer_version_is_quarantined(opening: Opening) -> None:
    async with opening() as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.db.write(
                lambda tx: tx.run("INSERT INTO schema_steps VALUES (99, 'vault', '0099_x.sql', 'now')")
            )
        await services.pool.close_vault("main")
        with pytest.raises(VaultQuarantined) as refused:
            async with services.pool.lease(services.registry_cache.entry("main")):
                pass
        assert refused.value.details["reason"] == "future"


@pytest.mark.parametrize("harm", ["truncate", "flip", "empty", "delete"])
async def test_a_harmed_vector_snapshot_only_costs_time(opening: Opening, tmp_path: Path, harm: str) -> None:
    from vaults.index import projection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "SNAPSHOT_FROM", 1)
        async with opening() as services:
            for n in range(20):
                assert (await _in(services, "main")("remember", content=f"word{n} and word{n + 1}")).ok
            before = (await _in(services, "main")("recall", query="word7", mode="semantic")).content["hits"]
        snapshot = tmp_path / "vaults" / "main" / MAIN.snapshot
        data = bytearray(snapshot.read_bytes())
        match harm:
            case "truncate":
                snapshot.write_bytes(bytes(data[: len(data) // 2]))
            case "flip":
                data[len(data) // 2] ^= 1
                snapshot.write_bytes(bytes(data))
            case "empty":
                snapshot.write_bytes(b"")
            case "delete":
                snapshot.unlink()
        async with opening() as services:
            after = (await _in(services, "main")("recall", query="word7", mode="semantic")).content["hits"]
        assert [hit["id"] for hit in after] == [hit["id"] for hit in before]


async def test_two_pools_on_one_vault_both_answer_rightly_and_one_holds_the_lease(opening: Opening) -> None:
    async with opening() as first, opening() as second:
        for n in range(10):
            writer, reader = (first, second) if n % 2 else (second, first)
            stored = await _in(writer, "main")("remember", content=f"turn {n} unique{n}")
            for mode in ("keyword", "semantic"):
                found = await _in(reader, "main")("recall", query=f"turn {n} unique{n}", mode=mode)
                assert found.content["hits"][0]["id"] == stored.content["id"], mode
        entry = first.registry_cache.entry("main")
        async with first.pool.lease(entry) as a, second.pool.lease(entry) as b:
            assert a.lease.held != b.lease.held


async def test_archiving_takes_a_vault_out_of_service_and_keeps_its_files(services: Services, tmp_path: Path) -> None:
    await _in(services, "main")("remember", content="kept")
    await vault_admin.archive(services, "main")
    assert (await _in(services, "main")("recall", query="kept")).code == "not_found"
    assert (tmp_path / "vaults" / "main" / "vault.db").is_file()


@pytest.mark.parametrize("how", ["delete", "rename"])
async def test_files_taken_away_in_use_stop_writes_and_no_empty_vault_appears(
    opening: Opening, tmp_path: Path, how: str
) -> None:
    async with opening(vaults=("main", "healthy")) as services:
        assert (await _in(services, "main")("remember", content="here")).ok
        folder = tmp_path / "vaults" / "main"
        folder.rename(tmp_path / "elsewhere")
        if how == "delete":
            shutil.rmtree(tmp_path / "elsewhere")
        refused = await _in(services, "main")("remember", content="lost?")
        assert refused.code == "vault_quarantined"
        assert (await _in(services, "main")("recall", query="here")).code == "vault_quarantined"
        assert not folder.exists()
        assert (await _in(services, "healthy")("remember", content="fine")).ok


async def test_damage_met_in_the_middle_of_a_call_quarantines_that_vault(services: Services) -> None:
    with pytest.raises(VaultQuarantined):
        async with services.pool.lease(services.registry_cache.entry("main")):
            raise VaultQuarantined("a page is damaged", reason="damaged")
    assert (await _in(services, "main")("recall", query="x")).code == "vault_quarantined"


async def test_a_vault_that_was_shut_out_and_is_gone_is_nobody_s_trouble_any_more(services: Services) -> None:
    with pytest.raises(VaultQuarantined):
        async with services.pool.lease(services.registry_cache.entry("main")):
            raise VaultQuarantined("a page is damaged", reason="damaged")
    await services.pool.rounds.run_round()
    assert set(services.pool.quarantined) == {"main"}
    await services.control.write(lambda tx: registry.remove(tx, "main"))  # by a command beside the server
    await services.registry_cache.refresh()
    await services.pool.rounds.run_round()
    assert not services.pool.quarantined


async def test_an_index_ahead_of_its_rows_starts_anew(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    from vaults.index import projection

    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 1_000.0)  # it would compute the vectors anew
    monkeypatch.setattr(projection, "SNAPSHOT_FROM", 1)
    async with opening() as services:
        for n in range(10):
            assert (await _in(services, "main")("remember", content=f"word{n}")).ok
        await _in(services, "main")("recall", query="word3", mode="semantic")
    async with opening() as services:  # as after a restore of older rows beside a newer snapshot

        def older(tx: Writer) -> None:
            tx.run("DELETE FROM embeddings WHERE change > 5")
            tx.run("UPDATE vector_clock SET last = 5")

        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _idle(vault)
            await vault.db.write(older)
        hits = (await _in(services, "main")("recall", query="word9", mode="semantic")).content["hits"]
        assert len(hits) == 5
        assert "word9" not in {hit["content"] for hit in hits}


async def _idle(vault: Vault) -> None:
    """What it owes when it is opened is done."""
    assert await vault.notes.wait_for_index(PATIENCE_S)
    if vault.background.due_work is not None:
        await asyncio.wait_for(vault.background.due_work, PATIENCE_S)


async def test_a_resting_vault_that_follows_no_files_gives_its_lease_back(opening: Opening) -> None:
    async with opening({"notes.watch": "off"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _idle(vault)
        async with asyncio.timeout(PATIENCE_S):
            while vault.lease.held:  # the sweep after a start may have woken it once more
                await vault.rest()
                await asyncio.sleep(0.01)


def _open_here(folder: Path) -> set[str]:
    """Which files of a folder this process has open."""
    targets = (_target_of(each) for each in Path("/proc/self/fd").iterdir())
    return {target for target in targets if target.startswith(f"{folder}/")}


def _target_of(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:  # closed by another thread, or the one that lists them
        return ""


async def test_a_resting_vault_holds_no_connection_and_wakes_at_once(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 1_000.0)  # it would wake the vault
    async with opening() as services:
        await _in(services, "main")("remember", content="asleep and awake")
        await _in(services, "main")("recall", query="asleep")
        await settled(services)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _idle(vault)
        assert str(vault.db.path) in _open_here(vault.folder)
        await vault.rest()
        assert _open_here(vault.folder) == {f"{vault.folder}/{name}" for name in (".gate", ".lease")}
        assert vault.lease.held, "it still follows the files"
        assert vault.projection.size == 1, "the vectors stay"
        assert (await _in(services, "main")("recall", query="asleep")).content["hits"]
        assert (await _in(services, "main")("remember", content="written after")).ok


async def test_a_vault_at_rest_keeps_its_lease_for_work_that_begins_meanwhile(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening({"notes.watch": "off"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _idle(vault)
        go_on, rest = asyncio.Event(), vault.db.rest

        async def begin_work() -> None:
            await rest()
            vault.start_background_work()

        monkeypatch.setattr(vault.db, "rest", begin_work)
        monkeypatch.setattr(vault.background, "_run_due", go_on.wait)
        await vault.rest()
        assert vault.background.is_busy
        assert vault.lease.held, "another process would do the same work"
        go_on.set()
        await _idle(vault)


async def test_a_round_closes_no_vault_that_was_taken_into_use_while_it_closed_another(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", PATIENCE_S)
    async with opening(vaults=("a", "b")) as services, AsyncExitStack() as in_use:
        pool, entries = services.pool, {each.vault_id: each for each in services.registry_cache.entries()}
        for entry in entries.values():
            async with pool.lease(entry) as vault:
                await _idle(vault)
            pool.slots[entry.vault_id].used = -math.inf
        evict, evicted = pool.evict, []

        async def evict_while_another_is_called(vault_id: str) -> None:
            evicted.append(vault_id)
            await evict(vault_id)
            (other,) = entries.keys() - {vault_id}
            await in_use.enter_async_context(pool.lease(entries[other]))

        monkeypatch.setattr(pool, "evict", evict_while_another_is_called)
        await pool.rounds.run_round()
        assert len(evicted) == 1
        assert pool.open_count == 1


async def test_a_round_lets_a_vault_be_that_is_opened_anew_while_another_gives_up_its_vectors(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", PATIENCE_S)
    async with opening(vaults=("a", "b")) as services:
        pool, entries = services.pool, services.registry_cache.entries()
        for entry in entries:
            async with pool.lease(entry) as vault:
                await _idle(vault)
        opened_anew: list[asyncio.Task[None]] = []
        go_on, open_vault = asyncio.Event(), Vault.open

        async def open_late(vault: Vault) -> None:
            await go_on.wait()
            await open_vault(vault)

        async def use(name: str) -> None:
            async with pool.lease(services.registry_cache.entry(name)):
                pass

        async def settle(vault: Vault) -> None:
            if not opened_anew:
                (other,) = {each.name for each in entries} - {vault.name}
                opened_anew.append(asyncio.create_task(use(other)))
                await pool.close_vault(other)

        monkeypatch.setattr(Vault, "open", open_late)
        monkeypatch.setattr(Vault, "settle", settle)
        monkeypatch.setattr(Vault, "vector_bytes", property(lambda _: 10**12))
        try:
            await pool.rounds._keep_budget()
        finally:
            go_on.set()
            await opened_anew[0]


async def test_whoever_finds_no_place_waits_for_one_in_order_of_arrival(opening: Opening) -> None:
    async with opening({"storage.open_vaults": 1}, vaults=("a", "b", "c")) as services:
        order: list[str] = []

        async def use(name: str) -> None:
            async with services.pool.lease(services.registry_cache.entry(name)):
                order.append(name)

        async with services.pool.lease(services.registry_cache.entry("a")):
            waiting = [asyncio.create_task(use(name)) for name in ("b", "c")]
            for _ in range(5):
                await asyncio.sleep(0)
            assert not order
        await asyncio.gather(*waiting)
        assert order == ["b", "c"]


async def test_two_who_wait_for_the_same_vault_share_one_place(opening: Opening) -> None:
    async with opening({"storage.open_vaults": 2}, vaults=("a", "b", "c")) as services:

        async def borrowed() -> int:
            async with services.pool.lease(services.registry_cache.entry("c")) as vault:
                await asyncio.sleep(0)
                return id(vault)

        async with services.pool.lease(services.registry_cache.entry("a")):
            async with services.pool.lease(services.registry_cache.entry("b")):
                waiting = [asyncio.create_task(borrowed()) for _ in range(2)]
                for _ in range(5):
                    await asyncio.sleep(0)
            assert len(set(await asyncio.gather(*waiting))) == 1


async def test_a_caller_who_leaves_while_room_is_made_leaves_no_vault_half_closed(opening: Opening) -> None:
    async with opening({"storage.open_vaults": 1}, vaults=("a", "b")) as services:
        for turns in range(8):
            assert (await _in(services, "a")("remember", content=f"turn {turns}")).ok
            leaving = asyncio.ensure_future(_in(services, "b")("recall", query="x"))
            for _ in range(turns):
                await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("sqlite-")]
        await services.pool.close()
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("sqlite-")]
    assert threads
    assert not left


async def test_a_full_disk_does_not_end_the_pools_rounds(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        pass

    def full(work: object) -> object:
        raise StorageFull("the disk is full")

    vault.access_counts[1] = 1
    monkeypatch.setattr(vault.db, "write_uncounted", full)
    await vault.settle()
    assert vault.access_counts[1] == 1, "counted later"
    monkeypatch.undo()


async def test_a_defect_in_a_round_ends_no_rounds_to_come_and_is_told(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SWEEP_AFTER_S", "ROUND_S"):
        monkeypatch.setattr(pool_rounds, name, 0)
    met, again = [], asyncio.Event()

    async def keep_reserves(_pool: pools.VaultPool) -> None:
        met.append(1)
        if len(met) == 3:
            again.set()
        raise ZeroDivisionError

    monkeypatch.setattr(pools.VaultPool, "keep_reserves", keep_reserves)
    async with opening({}) as services:
        await asyncio.wait_for(again.wait(), PATIENCE_S)
        assert services.defects.current["vault_rounds"].kind == "ZeroDivisionError"
