"""The command line, ``strongroom``. Importing it imports nothing: how fast it starts is a published figure."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 130 interrupted."""
    from server.cli.app import run

    sys.exit(run(sys.argv[1:]))
