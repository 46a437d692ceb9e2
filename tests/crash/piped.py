"""An agent's server over stdio as a process of its own, spoken to in plain lines: it is not closed politely."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.server.cli.command import ENVIRONMENT
from tests.server.http.serving import enveloped
from tests.work import PROGRAM_PATIENCE_S
from vaults.db.engine import sqlite


class Piped:
    """An agent's server over stdio, of a vault in a folder."""

    def __init__(self, folder: Path, under: Sequence[str] = (), **environment: str) -> None:
        self._folder = folder
        argv = [*under, sys.executable, "-m", "server", "stdio", "--path", str(folder), "--tools", "full"]
        self.process = subprocess.Popen(
            argv, env=ENVIRONMENT | environment, cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        message = enveloped("tools/call", {"name": tool, "arguments": arguments})
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        result: dict[str, Any] = json.loads(self.process.stdout.readline())["result"]
        assert not result["isError"], result
        content: dict[str, Any] = result["structuredContent"]
        return content

    def claimed(self) -> set[str]:
        return {each["resource"] for each in self("claims")["claims"]}

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=PROGRAM_PATIENCE_S)
        return self.process.returncode

    def hang_up(self) -> None:
        """Close its input, which ends it."""
        self.process.communicate(timeout=PROGRAM_PATIENCE_S)

    def logged(self, count: int) -> None:
        """Wait until so many calls are in the log."""
        (database,) = self._folder.rglob("vault.db")
        raw = sqlite.connect(database, timeout=PROGRAM_PATIENCE_S)
        began = time.monotonic()
        while raw.execute("SELECT COUNT(*) FROM events").fetchone()[0] < count:
            assert time.monotonic() - began < PROGRAM_PATIENCE_S
            threading.Event().wait(0.02)
        raw.close()
