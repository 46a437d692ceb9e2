"""How each known client is connected to a vault of a running server: the command that does it, and what to put into
which file by hand. Text only, and no token in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server.setup.client_config import claude_code_command
from server.setup.clients.connections import show_entry
from server.setup.clients.known_clients import CLIENTS, KnownClient, UserFolders
from server.setup.clients.server_entry import ConnectedServer

SERVER_NAME = "strongroom"
"""What a client calls the server, unless somebody says otherwise."""

TOKEN_FILE = "~/.strongroom-token"  # noqa: S105  the name of a file


@dataclass(frozen=True, slots=True)
class ConnectionGuide:
    """``commands``: the lines that connect it, to be typed where the client runs. ``file`` and ``content``: the same by
    hand, as the file stands on Linux; both empty for a client that takes no URL."""

    name: str
    title: str
    commands: str
    file: str = ""
    content: str = ""


def list_guides(endpoint: str, local: Sequence[str] | None) -> list[ConnectionGuide]:
    """One for each client. ``endpoint``: the URL of the vault. ``local``: options that lead to the vault on this
    machine, where nobody has to sign in; None: people sign in."""
    return [_guide(name, client, endpoint, local) for name, client in CLIENTS.items()]


def _guide(name: str, client: KnownClient, endpoint: str, local: Sequence[str] | None) -> ConnectionGuide:
    if client.connected is None:
        return ConnectionGuide(name, client.title, _commands_of_started(name, endpoint, local))
    if name == "claude-code":  # which brings a command of its own: nothing has to be installed for it
        command = claude_code_command(endpoint)
    else:
        command = shlex.join(["strongroom", "connect", name, "--url", endpoint, "--token-env", ""])
    entry = client.connected(ConnectedServer(endpoint, token_env=""))
    file = client.file(UserFolders(Path("~"), {}, platform="linux")).as_posix()
    return ConnectionGuide(name, client.title, command, file, show_entry(client, SERVER_NAME, entry).rstrip("\n"))


def _commands_of_started(name: str, endpoint: str, local: Sequence[str] | None) -> str:
    """For a client that can only start a program: that program connects, with a token from a file."""
    if local is not None:
        return shlex.join(["strongroom", "connect", name, *local])
    url = shlex.quote(endpoint)  # the file is not quoted: the shell finds the home folder
    return (
        f"strongroom login {url} --token-file {TOKEN_FILE}\n"
        f"strongroom connect {name} --url {url} --token-file {TOKEN_FILE}"
    )
