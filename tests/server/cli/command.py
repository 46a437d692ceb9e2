"""Running ``strongroom`` the way a person or a script does."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command

from server.cli import app
from tests.blanks import lay_out_listings
from tests.work import PROGRAM_PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")},
    "PYTHONPATH": str(ROOT),
    "STRONGROOM_EMBEDDING__ENGINE": "off",
    "STRONGROOM_STORAGE__RESERVE_MB": "0",
}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Strongroom:
    """A data folder and the command over it: called, it runs in this process, which is quick; ``process`` and
    ``start`` run it as its own."""

    data: Path

    def __call__(self, *args: str, stdin: str = "", **environment: str) -> Ran:
        out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
        raw = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")))
        with (
            mock.patch.dict(os.environ, self.environment(environment), clear=True),
            mock.patch.object(sys, "stdin", raw),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            contextlib.chdir(self.data.parent),
            mock.patch.object(app, "make_app", lambda command: _parser(command if command in app.MODULES else None)),
            _hooks_kept(),
        ):
            code = app.run(list(args))
        return Ran(code, _text(out), _text(err))

    def process(self, *args: str, stdin: str = "", cwd: Path | None = None, **environment: str) -> Ran:
        done = subprocess.run(
            self.argv(*args),
            input=stdin.encode("utf-8", "surrogatepass"),
            capture_output=True,
            cwd=cwd or self.data.parent,
            env=self.environment(environment),
            timeout=PROGRAM_PATIENCE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *args: str, environment: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        env = self.environment(environment or {})
        return subprocess.Popen(self.argv(*args), cwd=self.data.parent, env=env, **options)

    def argv(self, *args: str) -> list[str]:
        if self.data.is_dir():  # where there is none yet, the program makes it
            lay_out_listings(self.data)
        return [sys.executable, "-m", "server", *args]

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        return {**ENVIRONMENT, "STRONGROOM_DATA": str(self.data), **more}

    def memories(self, vault: str = "main") -> int:
        found: int = self("vault", "info", vault, "--json").json["memories"]["living"]
        return found


_make_app = app.make_app


@cache
def _parser(command: str | None) -> Any:
    """What reads a command line, made once per process: to make it takes longer than to run most commands."""
    return get_command(_make_app(command))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer: Any = stream.buffer
    return str(buffer.getvalue().decode())


@contextlib.contextmanager
def _hooks_kept() -> Iterator[None]:
    """What configuring logs changes in a process, put back."""
    owners = (
        (sys, "excepthook"), (threading, "excepthook"), (sys, "unraisablehook"), (warnings, "showwarning"),
        (logging, "raiseExceptions"),
    )  # fmt: skip
    kept = [(owner, name, getattr(owner, name)) for owner, name in owners]
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)
        root.handlers[:] = handlers
        root.setLevel(level)
