"""A vault is renamed, its name given away, and the vault deleted, while two workers serve callers: each gets what was
stored, or is told to come again, or that there is nothing, and never an empty vault in place of a full one. Faults 40
and 73."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2

from tests.crash.serving_process import Serving, serving
from tests.server.cli.command import Strongroom
from tests.server.http.serving import enveloped
from tests.work import PROGRAM_PATIENCE_S

REFUSED = (401, 403, 404)


class Caller:
    """Asks a vault for what was stored, on new connections, so that any worker may answer."""

    def __init__(self, server: Serving, token: str) -> None:
        self._server = server
        self._token = token
        self.outcomes: Counter[str] = Counter()

    async def ask(self, vault: str) -> str:
        """``found``, ``empty``, ``refused`` or the code of an error."""
        url = self._server.url.replace("/v/main/", f"/v/{vault}/")
        message = enveloped("tools/call", {"name": "recall", "arguments": {"query": "kept", "mode": "keyword"}})
        headers = {
            "authorization": f"Bearer {self._token}", "mcp-method": "tools/call", "mcp-name": "recall",
        }  # fmt: skip
        async with self._server.http() as http:
            answer = await http.post(url, json=message, headers=headers)
        outcome = "refused" if answer.status_code in REFUSED else _outcome(answer)
        self.outcomes[outcome] += 1
        return outcome

    async def until(self, vault: str, wanted: str) -> None:
        """Until every worker answers like this: several times in a row."""
        seen = 0
        async with asyncio.timeout(PROGRAM_PATIENCE_S):
            while seen < 8:
                seen = seen + 1 if await self.ask(vault) == wanted else 0


def _outcome(answer: httpx2.Response) -> str:
    body: dict[str, Any] = answer.json()
    if "error" in body:
        return str(body["error"]["message"])
    content = body["result"]["structuredContent"]
    if "error" in content:
        return str(content["error"]["code"])
    return "found" if content["hits"] else "empty"


async def test_a_vault_is_renamed_and_deleted_under_those_who_use_it(tmp_path: Path) -> None:
    strongroom = Strongroom(tmp_path / "data")

    async def run(*words: str) -> str:
        ran = await asyncio.to_thread(strongroom.process, *words)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    async with serving(strongroom.data, workers=2) as server:
        async with server.http() as http:
            await server.call(http, "remember", content="kept through it all")
        caller = Caller(server, server.token)
        await caller.until("main", "found")
        busy = [asyncio.create_task(_ask_again_and_again(caller)) for _ in range(3)]
        await run("vault", "rename", "main", "moved")
        await caller.until("moved", "found")
        await caller.until("main", "refused")
        for each in busy:
            each.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        assert not set(caller.outcomes) - {"found", "refused", "vault_unavailable", "not_found"}, caller.outcomes

        await run("vault", "create", "main")
        newcomer = Caller(
            server, await run("token", "create", "--subject", "new", "--vault", "main", "--role", "reader")
        )
        await newcomer.until("main", "empty")
        assert not set(newcomer.outcomes) - {"empty", "refused"}, newcomer.outcomes
        assert await caller.ask("main") == "refused", "a token of the vault that had this name"

        await run("key", "rotate")
        after = Caller(
            server, await run("token", "create", "--subject", "late", "--vault", "moved", "--role", "reader")
        )
        await after.until("moved", "found")
        await caller.until("moved", "found")

        await run("vault", "delete", "moved", "--confirm", "moved")
        await after.until("moved", "refused")
        assert not set(after.outcomes) - {"found", "refused", "vault_unavailable", "not_found"}, after.outcomes
        await newcomer.until("main", "empty")
    assert sorted(path.name for path in (strongroom.data / "vaults").iterdir()) == ["main"]
    assert len(list((strongroom.data / "backups").glob("moved-*.tar.zst"))) == 1


async def _ask_again_and_again(caller: Caller) -> None:
    while True:
        for vault in ("main", "moved"):
            await caller.ask(vault)
            await asyncio.sleep(0.01)
