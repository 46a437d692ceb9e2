"""``context`` and ``session_resume`` beside ``recall``, among 10,000 memories and 1,000 sessions, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import baseline, data_folders, recalls, servers
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import blocks, p50, p99, to_ms
from bench.run import Run
from bench.wire import RawConnection, VaultEndpoint, result_of
from vaults import clock
from vaults.db.connection import open_raw
from vaults.settings import StorageSettings

MEMORIES, SESSIONS, EVENTS = 10_000, 1_000, 10
TYPES = ("raw", "raw", "episodic", "observation", "fact", "decision", "learning", "plan", "error", "preference")
"""The types of ten memories in a row: of a thousand, a hundred are decisions."""

CALLS, BLOCK, WARM = 200, 20, 10
LIMIT = 2.0


def measure(run: Run) -> Iterator[Figure]:
    """One client; the calls take turns by blocks of 20, with fresh queries."""
    size = run.sized(MEMORIES, 1_000)
    with run.folder("packs") as folder, baseline.process_pool() as pool:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        with run.report_progress(f"store {size:,} memories and {run.sized(SESSIONS, 100):,} sessions"):
            items = enumerate(recalls.make_items(pool, size))
            data_folders.fill(ready.data, "main", (_with_type(number, item) for number, item in items))
            seed_sessions(ready.data / "vaults" / "main" / "vault.db", run.sized(SESSIONS, 100))
        with (
            servers.run_server(servers.SERVE, ready.data) as server,
            RawConnection(server.port) as line,
            run.report_progress(f"packs among {size:,}"),
        ):
            yield from _compare(
                line, VaultEndpoint(server.port, "main", ready.tokens["ann"]), run.sized(CALLS, 40), size
            )


def _with_type(number: int, item: data_folders.SeedMemory) -> data_folders.SeedMemory:
    more = {"type": TYPES[number % len(TYPES)], "thread": f"thread-{number % 40}", "entity": f"entity-{number % 300}"}
    return replace(item, fields=item.fields.model_copy(update=more))


def seed_sessions(path: Path, count: int) -> None:
    """Sessions of ten people with what they did, a claim in some, a handoff and a state: rows as the server writes
    them."""
    raw, now = open_raw(path, StorageSettings(), writer=True), clock.now()
    memories = [memory for (memory,) in raw.execute("SELECT id FROM memories LIMIT 1000")]
    raw.execute("BEGIN IMMEDIATE")
    for number in range(1, count + 1):
        _seed_session(raw, number, "active" if number > count - 10 else "paused", now)
        about = {"now": now, "session": number, "owner": f"local|p{number % 10}"}
        raw.executemany(
            "INSERT INTO events (at, session, owner, tool, type, resource, summary, outcome, ms, tokens_in, tokens_out)"
            " VALUES (:now, :session, :owner, 'remember', 'memory_stored', :memory, 'stored a decision', 'ok', 5, 40,"
            " 60)",
            [{**about, "memory": memories[(number + each) % len(memories)]} for each in range(EVENTS)],
        )
    raw.execute(
        "INSERT INTO handoffs (id, session, owner, who, workspace, goal, current_state, next_action, created_at)"
        " VALUES ('handoff-1', :session, 'local|p1', 'p1', 'global', 'Move the tables', 'Half are moved',"
        " 'Move the rest', :now)",
        {"session": count, "now": now},
    )
    raw.execute(
        "INSERT INTO checkpoints (id, workspace, thread, reason, state, tokens, owner, who, created_at)"
        " VALUES ('state-1', 'global', '', 'half way', :state, 15, 'local|p1', 'p1', :now)",
        {"state": '{"step": 12, "open": ["a", "b"]}', "now": now},
    )
    raw.execute("COMMIT")
    raw.close()


def _seed_session(raw: Any, number: int, status: str, now: str) -> None:
    raw.execute(
        "INSERT INTO sessions (id, owner, name, who, client, transport, workspace, status, goal, summary,"
        " where_left_off, started_at, seen_at, saved_at) VALUES (:id, :owner, :name, :who, 'bench', 'http', 'global',"
        " :status, :goal, :summary, :next, :now, :now, :now)",
        {
            "id": f"session-{number}",
            "owner": f"local|p{number % 10}",
            "name": f"name-{number}",
            "who": f"p{number % 10}",
            "status": status,
            "goal": f"Goal {number}",
            "summary": f"Did step {number} of the migration",
            "next": f"Step {number + 1} is next",
            "now": now,
        },
    )
    about = {"number": number, "thread": f"thread-{number % 40}", "path": f"src/{number}.py", "now": now}
    raw.execute("INSERT INTO session_threads VALUES (:number, :thread, :now)", about)
    if status == "active":
        raw.execute("INSERT INTO claims VALUES (:path, :number, 'the migration', :now)", about)


def _compare(connection: RawConnection, endpoint: VaultEndpoint, count: int, size: int) -> Iterator[Figure]:
    writer = TextWriter(seed=size + 2)
    calls: dict[str, Callable[[], bytes]] = {
        "recall": lambda: endpoint.call("recall", {"query": writer.query()}),
        "context": lambda: endpoint.call("context", {"query": writer.query(), "format": "prompt"}),
        "context, json": lambda: endpoint.call("context", {"query": writer.query()}),
        "context, no query": lambda: endpoint.call("context", {}),
        "session_resume": lambda: endpoint.call("session_resume", {}),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    sizes: list[int] = []
    for some in (range(WARM), *blocks(count, BLOCK)):
        for name, call in calls.items():
            for _ in some:
                elapsed, body = connection.timed(call())
                found = result_of(body)
                if "budget" in found:
                    sizes.append(found["budget"]["used"])
                taken[name].append(elapsed)
    base = p50(taken["recall"][WARM:])
    if max(sizes) > 2500:
        raise RuntimeError(f"a pack of {max(sizes)} tokens")
    for name in [name for name in calls if name != "recall"]:
        seconds = taken[name][WARM:]
        raw = f"p50 {to_ms(p50(seconds))} (p99 {to_ms(p99(seconds))}) ÷ recall {to_ms(base)}; {len(seconds)} calls each"
        numbers = {"p50_s": p50(seconds), "recall_p50_s": base}
        yield Figure(
            f"{name}, {size:,} memories, p50 ÷ recall",
            p50(seconds) / base,
            limit=LIMIT,
            sense="<=",
            unit="×",
            raw=raw,
            numbers=numbers,
        )
