"""A token that is taken away while an import is pushed with it: what was stored stays, and another one goes on.

Covers server.remote_vault.line_push.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from auth.keys import KEYS_FOLDER, open_key_ring
from auth.roles import Role
from auth.tokens import IssuedToken, TokenRequest, create_token, revoke_token
from server.remote_vault.vault_client import connect_to_vault
from tests.server.http.serving import Ground, served
from tests.work import PATIENCE_S
from vaults.domain.import_export.line_import import NumberedLine
from vaults.domain.import_export.source_import import ImportPlan
from vaults.errors import VaultUnavailable
from vaults.sources.jsonl import SOURCE


async def issue(ground: Ground) -> IssuedToken:
    ring = open_key_ring(ground.loaded.data / KEYS_FOLDER)
    wanted = TokenRequest("importer", ("main",), Role.WRITER, 3600)
    return await ground.control.write(lambda tx: create_token(tx, ring, ground.instance_id, wanted))


async def test_what_was_stored_stays_and_another_token_goes_on(tmp_path: Path) -> None:
    issued: list[IssuedToken] = []

    async def prepare(ground: Ground) -> dict[str, str]:
        issued.extend([await issue(ground), await issue(ground)])
        return {}

    lines = [{"content": f"Crane number {n}", "external_id": f"crane-{n}"} for n in range(20)]
    path, file = tmp_path / "memories.jsonl", tmp_path / "token"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with served(tmp_path / "data", vaults=("main",), prepare=prepare) as site:
        file.write_text(issued[0].token)

        async def push_until_refused() -> None:
            async with connect_to_vault(site.url, file, "main") as far, asyncio.timeout(PATIENCE_S):
                push = far.open_push("jsonl", str(path)).push
                numbered = [NumberedLine(number, line) for number, line in enumerate(lines, 1)]
                await push(numbered[:12])
                await site.ground.control.write(lambda tx: revoke_token(tx, issued[0].id))
                while True:  # until the server has noticed
                    await push(numbered[:1])

        with pytest.raises(VaultUnavailable, match="refuses the token"):
            await push_until_refused()
        file.write_text(issued[1].token)
        async with connect_to_vault(site.url, file, "main") as far:
            tally = await far.push(ImportPlan(SOURCE, path), lambda _: None)
        assert (tally.stored, tally.known) == (8, 12)
