"""What the configuration of a client says of one server: a command it starts, or a URL it connects to."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A program that the client starts and speaks to over stdin and stdout."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConnectedServer:
    """A vault's endpoint. ``token_env`` names the variable with the token in the client's environment; empty: the
    client signs in by itself."""

    url: str
    token_env: str

    def headers(self, reference: str) -> dict[str, dict[str, str]]:
        """The member ``headers``, with a reference such as ``${NAME}`` in place of the token; none if there is none."""
        if not self.token_env:
            return {}
        return {"headers": {"Authorization": "Bearer " + reference.replace("NAME", self.token_env)}}


def started_by_client(arguments: Sequence[str]) -> StartedServer:
    """This program's ``stdio``. Clients with a window have no shell's PATH, so the command is a whole path."""
    beside = shutil.which("strongroom", path=str(Path(sys.executable).parent))
    return StartedServer(beside or shutil.which("strongroom") or "strongroom", ("stdio", *arguments))
