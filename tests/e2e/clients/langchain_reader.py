"""An agent's tools through LangChain's adapters, whose model is shown the text of an answer and never its JSON.

``langchain_reader.py URL TOKEN`` stores, finds and reads a memory and a note, and prints what the model would see, as
JSON. Runs in an environment of its own (``requirements/clients.txt``).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient

PATIENCE_S = 60


async def main(url: str, token: str) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}"}
    client = MultiServerMCPClient({"memory": {"transport": "streamable_http", "url": url, "headers": headers}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def seen(name: str, **arguments: Any) -> str:
        answer = await tools[name].ainvoke(arguments)
        return answer if isinstance(answer, str) else "\n".join(block.get("text", "") for block in answer)

    said = {"remember": await seen("remember", content="The ferry leaves pier 7 at noon", type="fact", tags=["ferry"])}
    said["recall"] = await seen("recall", query="when does the ferry leave")
    memory = said["remember"].split()[1].rstrip(":")
    said["memory_get"] = await seen("memory_get", ids=[memory])
    said["note_write"] = await seen("note_write", path="trips/pier.md", content="# Pier\n\nThe kiosk sells maps.\n")
    said["note_read"] = await seen("note_read", path="trips/pier.md")
    said["search"] = await seen("search", query="kiosk maps")
    said["fetch"] = await seen("fetch", id="trips/pier.md")
    said["session_resume"] = await _until_told(lambda: seen("session_resume"), "stored a memory")
    return said


async def _until_told(ask: Callable[[], Awaitable[str]], wanted: str) -> str:
    """The first answer that has ``wanted``, or the last: what another worker did is in the log half a second later."""
    deadline = time.monotonic() + PATIENCE_S
    while wanted not in (answer := await ask()) and time.monotonic() < deadline:
        pass
    return answer


print(json.dumps(asyncio.run(main(*sys.argv[1:3]))))
