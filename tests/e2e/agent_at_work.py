"""An agent as a process of its own: ``agent_at_work.py URL TOKEN NAME``. It works through what stdin says, a JSON list
``[tool, arguments]`` per line, answers each with its result, and knows nothing of being killed."""

from __future__ import annotations

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def work(url: str, token: str, name: str) -> None:
    headers = {"authorization": f"Bearer {token}", "x-strongroom-client": name}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=180) as http,
        Client(streamable_http_client(f"{url}?tools=full", http_client=http)) as client,
    ):
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            tool, arguments = json.loads(line)
            answer = await client.call_tool(tool, arguments)
            print(json.dumps(answer.structured_content), flush=True)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
