"""The suite's scenarios for authorization servers, and the TypeScript client's own login, against a server that has
nothing but its built-in login: a person takes an invite and signs in, and lets in each program that asks.

``python authorize.py NODE SUITE LOGIN``: ``NODE`` runs JavaScript, ``SUITE`` is the suite's program, ``LOGIN`` that of
the client. Prints a line for each; exit code 1 where one fails.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.kept_ports import kept_port
from tests.server.oauth.desk import PASSWORD, Browser

BIN = Path(sys.executable).with_name("strongroom")
VAULT = "main"
WAIT_S = 60.0


def main(node: str, suite: str, login: str) -> int:
    """Run both."""
    with tempfile.TemporaryDirectory() as folder, kept_port() as port:
        url, options = f"http://127.0.0.1:{port}", ("--data", folder)
        served = subprocess.Popen(
            [BIN, "serve", *options, "--port", str(port), "--metrics-port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            asyncio.run(_wait_until_ready(url))
            invite = ["user", "invite", "ann", "--vault", VAULT, "--role", "writer", *options]
            told = subprocess.run([BIN, *invite], capture_output=True, text=True, check=True).stdout
            link = re.search(rf"{re.escape(url)}\S+", told)
            assert link is not None, told
            passed = asyncio.run(_let_in(node, suite, login, url, link[0]))
        finally:
            served.terminate()
            served.wait()
    return int(not passed)


async def _let_in(node: str, suite: str, login: str, url: str, link: str) -> bool:
    async with httpx2.AsyncClient(base_url=url) as http:
        browser = Browser(http)
        await browser.send(await browser.open(link), "/oauth/invite", password=PASSWORD, again=PASSWORD)
        return await _authorize(browser, (node, suite), url) and await _log_in(browser, (node, login), url)


async def _wait_until_ready(url: str) -> None:
    async with httpx2.AsyncClient(base_url=url) as http, asyncio.timeout(WAIT_S):
        while True:
            try:
                if (await http.get("/health/ready")).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.05)


async def _authorize(browser: Browser, suite: tuple[str, str], url: str) -> bool:
    """The scenarios with a client that registered itself; whether they passed. It has no secret: the suite never sends
    one to a server that takes clients without."""
    with kept_port() as port:
        client = await _register(browser.http, f"http://127.0.0.1:{port}/callback")
        given = ["--client-id", client, "--resource", f"{url}/v/{VAULT}/mcp", "--port", str(port)]
        process = await asyncio.create_subprocess_exec(
            *suite, "authorization", "--url", url, *given, stdout=asyncio.subprocess.PIPE
        )
        said = b""
        async with asyncio.timeout(WAIT_S):
            assert process.stdout is not None
            async for line in process.stdout:
                said += line
                if line.startswith(f"{url}/oauth/authorize?".encode()):
                    back = await _consent(browser, line.decode().strip())
                    async with httpx2.AsyncClient() as outside:
                        await outside.get(back)
            code = await process.wait()
    total = re.findall(r"Total: .*", said.decode())
    print(f"authorization server: {total[-1] if total else said.decode()[-2000:]}")
    return code == 0 and bool(total) and "Total: 2 passed, 0 failed" in total[-1]


async def _register(http: httpx2.AsyncClient, redirect: str) -> str:
    """The id of a new client."""
    about = {"client_name": "Conformance", "redirect_uris": [redirect], "token_endpoint_auth_method": "none"}
    answer = await http.post("/oauth/register", json=about)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["client_id"])


async def _log_in(browser: Browser, login: tuple[str, str], url: str) -> bool:
    """The TypeScript client, which knows the address of a vault alone; whether it came in."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*login, f"{url}/v/{VAULT}/mcp", stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    async with asyncio.timeout(WAIT_S):
        asked = await process.stdout.readline()
        back = await _consent(browser, asked.decode().strip())
        said, _ = await process.communicate(f"{back}\n".encode())
    print(f"TypeScript client, OAuth: {said.decode().strip()}")
    return process.returncode == 0


async def _consent(browser: Browser, address: str) -> str:
    """Let a program in; returns where the browser is sent back to."""
    async with asyncio.timeout(WAIT_S):  # a grant that a command gave holds within seconds
        while 'value="allow"' not in (page := await browser.open(address)).text:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    answer = await browser.send(page, "/oauth/authorize", decision="allow")
    assert answer.status_code in (302, 303), answer.text
    back = str(answer.headers["location"])
    assert urlsplit(back).path == "/callback", back
    return back


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
