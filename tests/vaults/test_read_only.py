"""A data folder that can only be read: searches work, writes say so (fault 19).

Covers vaults.db.database_files.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from server import vault_admin
from tests.conftest import Asking, Opening, asker
from tests.fakes import HashEmbedder
from tests.work import PATIENCE_S
from vaults.db import database_files
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import MigrationStep, load_migrations, migrate
from vaults.errors import ReadOnly, VaultUnavailable
from vaults.settings import StorageSettings


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only mount, where root too is refused: no folder is writable, no writer can be opened."""
    real = sqlite.connect

    def connect(target: Any, *args: Any, **options: Any) -> Any:
        if not options.get("uri"):
            raise _denied()
        return real(target, *args, **options)

    monkeypatch.setattr(database_files, "is_writable", lambda _folder: False)
    monkeypatch.setattr(sqlite, "connect", connect)
    monkeypatch.setattr("vaults.db.lease.Lease.try_acquire", lambda _lease: False)


def _denied() -> sqlite.OperationalError:
    failure = sqlite.OperationalError("attempt to write a readonly database")
    failure.sqlite_errorcode = sqlite.SQLITE_READONLY
    return failure


async def _made(path: Path) -> None:
    db = Database(path, StorageSettings())
    await migrate(db, "vault")
    await db.close()


async def test_what_was_stored_is_found_and_nothing_is_stored(opening: Opening, request: pytest.FixtureRequest) -> None:
    async with opening() as services:
        assert (await asker(services)("remember", content="a canary in the mine")).ok
    request.getfixturevalue("locked")
    async with opening() as services:
        ask: Asking = asker(services)
        for mode in ("keyword", "hybrid"):
            found = await ask("recall", query="canary", mode=mode)
            assert [hit["content"] for hit in found.content["hits"]] == ["a canary in the mine"]
        assert (await ask("remember", content="another")).code == "read_only"
        assert (await ask("memory_forget", ids=[found.content["hits"][0]["id"]])).code == "read_only"
        await services.access_cache.refresh()


async def test_another_model_than_the_vaults_own_is_no_failure_of_a_search(
    opening: Opening, request: pytest.FixtureRequest
) -> None:
    async with opening() as services:
        assert (await asker(services)("remember", content="a canary in the mine")).ok
    request.getfixturevalue("locked")
    async with opening(load_model=lambda: HashEmbedder(revision="2")) as services:
        await services.embedder.query("warm")
        assert (await asker(services)("recall", query="canary")).content["hits"]


async def test_missing_migrations_need_writing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    await _made(tmp_path / "v.db")
    request.getfixturevalue("locked")
    db = Database(tmp_path / "v.db", StorageSettings())
    assert await migrate(db, "vault") == 0
    with pytest.raises(ReadOnly):
        await migrate(
            db, "vault", (*load_migrations("vault"), MigrationStep(99, "0099_x.sql", "CREATE TABLE x (n INTEGER);"))
        )
    await db.close()


async def test_a_file_taken_for_unchanging_is_opened_anew_when_it_changed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    writer = sqlite.connect(tmp_path / "v.db", isolation_level=None)
    writer.execute("CREATE TABLE t (n INTEGER)")
    request.getfixturevalue("locked")
    db = Database(tmp_path / "v.db", StorageSettings())
    assert await db.read(lambda tx: tx.value("SELECT COUNT(*) FROM t")) == 0
    before = await db.version()
    assert await db.version() == before
    writer.execute("INSERT INTO t VALUES (1)")
    assert await db.version() != before
    assert await db.read(lambda tx: tx.value("SELECT COUNT(*) FROM t")) == 1
    await db.close()
    writer.close()


def test_a_failed_opening_leaves_no_thread_for_the_loop_to_die_under(tmp_path: Path) -> None:
    async def fails() -> None:
        db = Database(tmp_path / "absent" / "v.db", StorageSettings())
        with pytest.raises(VaultUnavailable):
            await db.read(lambda tx: tx.value("SELECT 1"))
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("sqlite-")]

    asyncio.run(fails())


_NAMESPACES = shutil.which("unshare") and not subprocess.run(["unshare", "-Urm", "true"], check=False).returncode

_MOUNTED = """
set -e
mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"
! touch "$1/probe" 2>/dev/null
shift; exec "$@"
"""


def _mounted(data: Path, *command: str) -> list[str]:
    arguments = [sys.executable, "-m", "server", *command, "--data", str(data)]
    return ["unshare", "-Urm", "sh", "-c", _MOUNTED, "sh", str(data), *arguments]


_ENVIRONMENT = {**os.environ, "STRONGROOM_EMBEDDING__ENGINE": "off", "STRONGROOM_STORAGE__RESERVE_MB": "0"}


def _run(data: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _mounted(data, *command), capture_output=True, text=True, env=_ENVIRONMENT, timeout=PATIENCE_S, check=False
    )


@pytest.mark.skipif(not _NAMESPACES, reason="needs user namespaces to mount a folder read-only")
async def test_commands_on_a_read_only_mount(opening: Opening, tmp_path: Path) -> None:
    async with opening({"embedding.engine": "off"}) as services:
        assert (await asker(services)("remember", content="a canary in the mine")).ok
        await vault_admin.create(services, "empty")
    recall = _run(tmp_path, "call", "recall", '{"query": "canary"}', "--vault", "main")
    assert (recall.returncode, recall.stderr) == (0, "")
    assert [hit["content"] for hit in json.loads(recall.stdout)["hits"]] == ["a canary in the mine"]
    verify = _run(tmp_path, "verify")
    assert (verify.returncode, verify.stderr) == (0, ""), verify.stdout
    remember = _run(tmp_path, "call", "remember", '{"content": "another"}', "--vault", "main")
    assert (remember.returncode, remember.stderr) == (1, "")
    assert json.loads(remember.stdout)["error"]["code"] == "read_only"


@pytest.mark.skipif(not _NAMESPACES, reason="needs user namespaces to mount a folder read-only")
async def test_a_server_starts_on_a_read_only_mount(opening: Opening, tmp_path: Path) -> None:
    async with opening({"embedding.engine": "off"}):
        pass
    assert await asyncio.to_thread(_serve_and_ask, tmp_path) == 0


def _serve_and_ask(data: Path) -> int:
    command = _mounted(data, "serve", "--port", "0", "--metrics-port", "0")
    environment = {**_ENVIRONMENT, "STRONGROOM_AUTH__MODE": "none"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as server:
        try:
            assert server.stderr is not None
            port = next(line["port"] for line in map(_parsed, server.stderr) if line.get("event") == "serving")
            assert _asked(port, "GET", "/health/ready")["status"] in {"ready", "degraded"}
            assert "hits" in _called(port, "recall", {"query": "canary"})
            assert _called(port, "remember", {"content": "another"})["error"]["code"] == "read_only"
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=PATIENCE_S)
    return server.returncode


def _parsed(line: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        return dict(json.loads(line))
    return {}


def _called(port: int, tool: str, arguments: dict[str, Any]) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = _asked(port, "POST", "/v/main/mcp", json.dumps(body), {"Mcp-Method": "tools/call", "Mcp-Name": tool})
    return answer["result"]["structuredContent"]


def _asked(port: int, method: str, path: str, body: str | None = None, more: dict[str, str] | None = None) -> Any:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        **(more or {}),
    }
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as client:
        client.request(method, path, body, headers)
        return json.loads(client.getresponse().read())
