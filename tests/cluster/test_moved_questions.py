"""A person who was asked through one server answers through another one, to which the vault has moved meanwhile.

``make cluster``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.installation import Installation, ServerProcess, installed
from tests.cluster.postgres_server import running_postgres
from tests.server.http.serving import BOTH, MODERN, enveloped
from tests.server.http.test_asking_over_http import ACCEPTED, FORMS

pytestmark = pytest.mark.cluster


async def test_a_question_outlives_the_server_that_asked_it(tmp_path: Path) -> None:
    with running_postgres() as postgres:
        async with installed(tmp_path, ["main"], servers=2, database=postgres.create_database()) as two:
            stored = await two.ask("main", "remember", {"content": "Rails hide."})
            purge = {"ids": [stored.content["id"]], "purge": True}
            holder = two.holders()["main"]
            one, other = sorted(two.servers, key=lambda each: each.name != holder)
            asked = await request(two, one, "memory_forget", purge)
            assert asked["resultType"] == "input_required"
            again = await request(two, other, "memory_forget", purge)
            assert again["resultType"] == "input_required"

            await two.command("cluster", "leave", one.name)
            await one.kill()
            answered = {"requestState": asked["requestState"], "inputResponses": ACCEPTED}
            done = await request(two, other, "memory_forget", purge, **answered)
            assert done["structuredContent"]["forgotten"] == purge["ids"]
            listed = await two.call(other, "main", "memory_list", {})
            assert listed.content["memories"] == []


async def request(
    installation: Installation, server: ServerProcess, tool: str, arguments: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """The result of a call by a client that can show forms."""
    headers = {
        "authorization": f"Bearer {installation.token}",
        "accept": BOTH,
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    message = enveloped("tools/call", {"name": tool, "arguments": arguments, "_meta": FORMS, **more})
    answer = await server.http.post(f"{server.url}/v/main/mcp?tools=full", json=message, headers=headers)
    result: dict[str, Any] = answer.json()["result"]
    return result
