"""``strongroom serve`` as a process of its own, for a browser: at ``localhost``, where passkeys are made."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.kept_ports import kept_port
from tests.server.cli.command import Ran, Strongroom
from tests.work import PROGRAM_PATIENCE_S

VAULT = "main"


class Site:
    """One server with its data. ``token``: of the admin of ``main``, which the first start prints; empty where nobody
    signs in."""

    def __init__(self, data: Path, port: int, **environment: str) -> None:
        self.command = Strongroom(data)
        self.url = f"http://localhost:{port}"
        self.token = ""
        self._port, self._environment = port, {"STRONGROOM_AUTH__PUBLIC_URL": self.url, **environment}
        self.start()

    def start(self) -> None:
        """Start it, or start it again at the same address."""
        self._process = self.command.start(
            "serve", "--port", str(self._port), "--metrics-port", "0",
            environment=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        said = ""
        assert self._process.stdout is not None
        while "/v/<vault>/mcp" not in said:
            line = str(self._process.stdout.readline())
            assert line, said
            said += line
        if token := re.search(r"Bearer ([\w.~+/=-]+)", said):
            self.token = token.group(1)

    def stop(self) -> None:
        """As an operator ends it."""
        self._process.terminate()
        try:
            self._process.communicate(timeout=PROGRAM_PATIENCE_S)
        finally:
            self._process.kill()

    def run(self, *words: str) -> Ran:
        """``strongroom`` on the same data: on a thread, because the loop of this one is the browser's."""
        with ThreadPoolExecutor(1) as pool:
            ran = pool.submit(self.command, *words, **self._environment).result()
        assert ran.code == 0, ran.err
        return ran

    def invite(self, name: str, vault: str = VAULT, role: str = "writer") -> str:
        """The link by which somebody new comes in."""
        told = self.run("user", "invite", name, "--vault", vault, "--role", role).out
        link = re.search(rf"{re.escape(self.url)}\S+", told)
        assert link is not None, told
        return link.group()

    def mcp(self, vault: str = VAULT) -> str:
        """The address that agents are told."""
        return f"{self.url}/v/{vault}/mcp"


@contextmanager
def serving(data: Path, **environment: str) -> Iterator[Site]:
    """One that runs until the block ends."""
    with kept_port() as port:
        site = Site(data, port, **environment)
        try:
            yield site
        finally:
            site.stop()
