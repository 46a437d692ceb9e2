"""``strongroom login``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    app.command("login")(login)


def login(
    ctx: typer.Context,
    url: Annotated[
        str | None,
        typer.Argument(metavar="URL", help="a server, or a vault's /mcp; default: the one over this data folder"),
    ] = None,
    *,
    vault: Annotated[str | None, typer.Option(help="the vault it is for; default: chosen in the browser")] = None,
    token_file: Annotated[Path | None, typer.Option(help="write the token there, for this user alone to read")] = None,
) -> None:
    """Get a token by signing in with a browser. On this machine or another; it is printed, or written to a file."""
    import socket

    from server.cli.output import say, say_on_stderr
    from server.remote_vault import device_login

    asked = device_login.ask(url or _running(ctx), vault, socket.gethostname())
    say_on_stderr(f"Open {asked.page}\nand allow it there. The page shows the code {asked.user_code}.")
    given = device_login.wait_for_token(asked)
    say_on_stderr(f"{given.scope} of {given.vault} until {given.expires_at}")
    if token_file is None:
        say(given.token)
        return
    from auth import private_files

    file, data = token_file.expanduser().absolute(), given.token.encode()
    if file.exists():
        private_files.replace(file, data)
    else:
        private_files.publish(file.parent, file.name, data)


def _running(ctx: typer.Context) -> str:
    from server.cli.runtime import load_settings
    from server.running_server import find_running_url
    from vaults.errors import InvalidArgument

    url = find_running_url(load_settings(ctx).data)
    if url is None:
        raise InvalidArgument("URL", "is needed: no server runs over this data folder")
    return url
