"""The command line, ``strongroom``. Importing it imports nothing: how fast it starts is a published figure."""

from __future__ import annotations

import gc
import sys

GARBAGE = 20_000
"""New objects from which unreachable cycles are looked for. Modules are made of many that stay: at the interpreter's
own limit, an eighth of a start is spent looking through them."""


def main() -> None:
    """The entry point. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 130 interrupted."""
    gc.set_threshold(GARBAGE)
    try:
        code = run_command(sys.argv[1:])
    except KeyboardInterrupt:  # before there was a command to interrupt
        code = 130
    _leave(code)


def run_command(arguments: list[str]) -> int:
    """Run one command line; returns the exit code."""
    if arguments[:2] == ["hook", "stop"]:  # an agent's program waits for it at each turn: without all that is below
        from server.cli.hand_over import hand_over, is_plain

        if is_plain(arguments):
            return hand_over(arguments[2:])
    if "call" in arguments or "hook" in arguments:
        from server.cli.local_server import ask_local_server

        code = ask_local_server(arguments)
        if code is not None:
            return code
    from server.cli.app import run

    return run(arguments)


def _leave(code: int) -> None:
    """End the process. A thread inside a model's native code can neither be ended nor waited for; if the interpreter
    were torn down around it, the process would abort as soon as that code returns."""
    import os
    import threading
    from contextlib import suppress

    if threading.active_count() == 1:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader is gone, or it is closed
            stream.flush()
    os._exit(code)
