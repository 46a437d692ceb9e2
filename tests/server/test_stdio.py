"""The stdio door as a process of its own, through real pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import ElicitResult

from server.settings import Settings
from tests.blanks import lay_out_listings
from tests.work import PROGRAM_PATIENCE_S

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("stdio_server.py")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "i",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number, tool, **arguments):
    return request(number, "tools/call", name=tool, arguments=arguments)


def command(data, *more):
    lay_out_listings(data)
    return [sys.executable, str(SCRIPT), str(data), "main", *more]


def start(data, *more, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    return subprocess.Popen(
        command(data, *more),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def lines(*messages):
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages)


def talk(data, *messages, more=()):
    """Everything in, then the end of input; the messages that came out, and stderr."""
    process = start(data, *more)
    out, err = process.communicate(lines(*messages), timeout=PROGRAM_PATIENCE_S)
    assert process.returncode == 0, err.decode()
    return [json.loads(line) for line in out.splitlines()], err


def answers(messages):
    return {each["id"]: each for each in messages if "id" in each}


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_a_client_stores_and_finds(tmp_path, mode):
    parameters = StdioServerParameters(
        command=sys.executable, args=command(tmp_path / "data")[1:], env={"PYTHONPATH": str(ROOT)}
    )
    async with Client(parameters, mode=mode, cache=None) as client:
        assert "remember" in [tool.name for tool in (await client.list_tools()).tools]
        stored = (await client.call_tool("remember", {"content": "Kingfishers dive"})).structured_content
        found = (await client.call_tool("recall", {"query": "kingfishers"})).structured_content
        assert [hit["id"] for hit in found["hits"]] == [stored["id"]]
        read = await client.read_resource(f"memory://{stored['id']}")
        assert read.contents[0].text.endswith("Kingfishers dive")
        status = (await client.call_tool("status", {})).structured_content
        assert (status["you"]["subject"], status["you"]["role"]) == ("owner", "admin")


@pytest.mark.parametrize(("mode", "able"), [("2026-07-28", True), ("2026-07-28", False), ("legacy", True)])
async def test_a_person_is_asked_where_the_client_can(tmp_path, mode, able):
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[str(SCRIPT), str(tmp_path / "data"), "main", "agent", "ask"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    asked = []

    async def agree(context, params):
        asked.append(params.message)
        return ElicitResult(action="accept")

    async with Client(parameters, mode=mode, cache=None, elicitation_callback=agree if able else None) as client:
        stored = await client.call_tool("remember", {"content": "Kingfishers dive"})
        if able and mode != "legacy":
            assert stored.structured_content["id"]
            assert asked[0].startswith("An agent wants to store a memory in the vault main")
            return
        assert stored.structured_content["error"]["code"] == "confirmation_required"
        assert not asked
        told = await client.call_tool("remember", {"content": "Kingfishers dive", "confirmed": True})
        assert told.structured_content["id"]


def test_stdout_carries_nothing_but_messages(tmp_path):
    messages, err = talk(tmp_path / "data", INITIALIZE, INITIALIZED, call(1, "status"))
    assert all(each["jsonrpc"] == "2.0" for each in messages)
    for stray in (b"a stray print\n", b"another stray print\n", b"a stray write\n"):
        assert stray in err


def test_requests_written_before_the_pipe_closes_are_answered(tmp_path):
    wanted = [call(number, "remember", content=f"memory {number}", on_duplicate="store") for number in range(20)]
    messages, _ = talk(tmp_path / "data", INITIALIZE, INITIALIZED, *wanted)
    assert set(answers(messages)) == {"i", *range(20)}
    messages, _ = talk(tmp_path / "data", INITIALIZE, INITIALIZED, call(1, "status"))
    assert answers(messages)[1]["result"]["structuredContent"]["memories"]["living"] == 20


def test_input_that_is_no_message_harms_nobody(tmp_path):
    much = b"a" * Settings().body_limit
    huge = b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"x":"' + much + b'"}}\n'
    bad = (b"\n", b"not json\n", b"\xff\xfe\n", b"[]\n", b"[" * 50_000 + b"\n", huge)
    messages, _ = talk(tmp_path / "data", INITIALIZE, INITIALIZED, *bad, call(1, "status"))
    assert answers(messages)[1]["result"]["isError"] is False
    assert 9 not in answers(messages)


def test_preset_and_write_mode_hold(tmp_path):
    messages, _ = talk(
        tmp_path / "data",
        INITIALIZE,
        INITIALIZED,
        request(1, "tools/list"),
        call(2, "remember", content="x"),
        more=("full", "off"),
    )
    found = answers(messages)
    tools = {tool["name"]: tool for tool in found[1]["result"]["tools"]}
    assert "memory_list" in tools
    assert "remember" not in tools
    assert found[2]["result"]["structuredContent"]["error"]["code"] == "read_only"


def test_nothing_of_an_exception_reaches_the_client(tmp_path):
    data = tmp_path / "data"
    talk(data, INITIALIZE, INITIALIZED)
    (data / "vaults" / "main" / "vault.db").write_bytes(b"rubbish" * 1000)
    messages, _ = talk(data, INITIALIZE, INITIALIZED, call(1, "status"))
    failed = answers(messages)[1]["result"]
    assert failed["structuredContent"]["error"]["code"] == "vault_quarantined"
    assert str(tmp_path) not in json.dumps(failed)


def read_answer(process, number):
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            return message
    raise AssertionError(number)


NOT_FOR_A_LISTING = (
    *("torch", "faiss", "onnxruntime", "numpy", "sentence_transformers", "tokenizers", "re2", "pygit2"),
    *("prometheus_client", "server.tools.search", "server.shared_resources", "vaults.cluster", "psycopg"),
    *("vaults.vault", "vaults.graph", "vaults.markdown", "vaults.domain.notes", "ops.backup.staging"),
)


def test_a_later_start_lists_tools_before_anything_heavy_is_imported(tmp_path):
    code = f"""
import asyncio, sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import stdio_server, server.stdio, vaults.pool_inspections, vaults.pool_rounds
# However slow the machine is:
server.stdio._ARRIVE_S = vaults.pool_rounds.SWEEP_AFTER_S = vaults.pool_inspections.INSPECT_S = 1e6
asyncio.run(stdio_server.main({str(tmp_path / "data")!r}, "main"))
print([name for name in {NOT_FOR_A_LISTING!r} if name in sys.modules], file=sys.stderr)
"""
    for _start in ("first", "later"):
        process = subprocess.run(
            [sys.executable, "-c", code],
            input=lines(INITIALIZE, INITIALIZED, request(1, "tools/list")),
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
            capture_output=True,
            timeout=PROGRAM_PATIENCE_S,
            check=True,
        )
        assert b'"id":1' in process.stdout
    assert process.stderr.splitlines()[-1] == b"[]"


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(tmp_path, sig):
    process = start(tmp_path / "data")
    process.stdin.write(lines(INITIALIZE))
    process.stdin.flush()
    read_answer(process, "i")
    process.send_signal(sig)
    with process.stdout, process.stdin, process.stderr:
        assert process.wait(PROGRAM_PATIENCE_S) == 0
    assert not (tmp_path / "data" / "control.db-wal").exists()  # closed, not torn away


def test_it_ends_when_its_parent_does_though_the_pipes_stay_open(tmp_path):
    """The server's parent is a process in between; the test keeps the other ends of its pipes."""
    between = f"""
import os, subprocess, sys, time
child = subprocess.Popen({command(tmp_path / "data")!r})
print(child.pid, file=sys.stderr, flush=True)
child.wait()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", between],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process.stdin, process.stdout, process.stderr:
        server = next(int(line) for line in process.stderr if line.strip().isdigit())  # who is first to write is open
        process.stdin.write(lines(INITIALIZE))
        process.stdin.flush()
        read_answer(process, "i")
        process.kill()
        process.wait(PROGRAM_PATIENCE_S)
        assert gone(server)


def gone(pid):
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        threading.Event().wait(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def test_half_a_surrogate_pair_is_answered_and_a_whole_one_is_read(tmp_path):
    half = lines(call(7, "remember", content="X")).replace(b"X", b"\\ud83d")
    whole = half.replace(b'"id": 7', b'"id": 8').replace(b"\\ud83d", b"\\ud83d\\ude00")
    found = answers(talk(tmp_path, INITIALIZE, INITIALIZED, half, whole)[0])
    assert found[7]["error"]["code"] == -32700
    assert not found[8]["result"].get("isError")
