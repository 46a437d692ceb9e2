"""Real clients against real processes: two workers behind one socket, vault after vault."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.blanks import lay_out_listings
from tests.work import PROGRAM_PATIENCE_S

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "conformance" / "fixture_server.py"
MODES = ("2026-07-28", "legacy")
VAULTS = {mode: tuple(f"vault{4 * place + number}" for number in range(4)) for place, mode in enumerate(MODES)}
FLOCKS = {mode: f"flock{place}" for place, mode in enumerate(MODES)}
"""Vaults that one test alone writes into: all of them ask the same server."""

CLIENTS, ROUNDS = 16, 6


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Base URL and token of a server with two workers."""
    folder = tmp_path_factory.mktemp("clients")
    lay_out_listings(folder / "data")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                str(SCRIPT),
                str(folder / "data"),
                "plain",
                "2",
                *sum(VAULTS.values(), ()),
                *FLOCKS.values(),
            ],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
        )
    said = json.loads(process.stdout.readline())
    yield said["url"].partition("/v/")[0], said["token"]
    process.send_signal(signal.SIGTERM)
    with process.stdout:
        assert process.wait(PROGRAM_PATIENCE_S) == 0, (folder / "log").read_text()


async def connected(stack, server, vault, mode):
    url, token = server
    http = await stack.enter_async_context(
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=PROGRAM_PATIENCE_S)
    )
    transport = streamable_http_client(f"{url}/v/{vault}/mcp", http_client=http)
    return await stack.enter_async_context(Client(transport, mode=mode, cache=None))


async def ask_around(clients, number):
    """Through this caller's clients, one per vault, never the same vault twice in a row."""
    seen, vaults = [], tuple(clients)
    for vault in itertools.islice(itertools.cycle(vaults[number % 4 :] + vaults[: number % 4]), ROUNDS):
        found = await clients[vault].call_tool("recall", {"query": "canary of this vault"})
        seen.append((vault, [hit["content"].split()[-1] for hit in found.structured_content["hits"]]))
    return seen


@pytest.mark.parametrize("mode", MODES)
async def test_sixteen_clients_on_two_workers_get_their_own_vaults(server, mode):
    async with AsyncExitStack() as stack:
        shared = {vault: await connected(stack, server, vault, mode) for vault in VAULTS[mode]}
        for vault, client in shared.items():
            stored = await client.call_tool("remember", {"content": f"The canary of this vault is called {vault}"})
            assert not stored.is_error
        rounds = await asyncio.gather(*(ask_around(shared, number) for number in range(CLIENTS)))
    seen = [answer for each in rounds for answer in each]
    assert len(seen) == CLIENTS * ROUNDS
    assert [(vault, [vault]) for vault, _ in seen] == seen


@pytest.mark.parametrize("mode", MODES)
async def test_what_one_worker_stores_the_other_finds(server, mode):
    async with AsyncExitStack() as stack:
        clients = [await connected(stack, server, FLOCKS[mode], mode) for _ in range(6)]
        ids = set()
        for number, client in enumerate(clients):
            stored = await client.call_tool("remember", {"content": f"swift number {number} of its flock"})
            ids.add(stored.structured_content["id"])
            for other in clients:
                found = await other.call_tool("recall", {"query": "swift flock", "limit": 50})
                assert {hit["id"] for hit in found.structured_content["hits"]} == ids
