"""``strongroom connect``: this server in the configuration of a client."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli.connection_reports import report_change
from server.cli.wanted_server import WantedServer, check_vault, local_arguments, named_data, vault_endpoint

if TYPE_CHECKING:
    from server.setup.clients.known_clients import KnownClient

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
TOKEN_ENV = "STRONGROOM_TOKEN"  # noqa: S105  the name of a variable


def add_to(app: typer.Typer) -> None:
    app.command("connect")(connect)


def connect(
    ctx: typer.Context,
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help="claude-code, claude-desktop, cursor, vscode, codex, opencode, gemini-cli, windsurf or zed",
        ),
    ],
    *,
    url: Annotated[str | None, typer.Option(help="a server, or the URL of a vault's /mcp; default: start one")] = None,
    vault: Annotated[str | None, typer.Option(help="the vault; default: main, or the project's own")] = None,
    path: Annotated[Path | None, typer.Option(help="serve this folder in place; not with --url")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="with --url: the client starts strongroom stdio, which reads the token there")
    ] = None,
    token_env: Annotated[
        str, typer.Option(help="with --url: the variable with the token; '': the client signs in by itself")
    ] = TOKEN_ENV,
    name: Annotated[str, typer.Option(help="what the client calls the server")] = "strongroom",
    file: Annotated[Path | None, typer.Option(help="another file than the user's, such as .cursor/mcp.json")] = None,
    print_only: Annotated[bool, typer.Option("--print", help="print what to paste, write nothing")] = False,
    hooks: Annotated[bool, typer.Option("--hooks", help="the client's hooks, instead of the server")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="take the server, or the hooks, out again")] = False,
) -> None:
    """Add this server to a client's configuration. Its other servers and comments stay, and --undo takes it out."""
    from server.cli.output import say, say_on_stderr
    from server.settings import command_environment
    from server.setup.clients.connections import connect_client, disconnect_client, show_entry
    from server.setup.clients.known_clients import PLACES, UserFolders
    from vaults.errors import InvalidArgument

    if not NAME.fullmatch(name):
        raise InvalidArgument("--name", "must be 1 to 64 letters, digits, - and _")
    wanted = WantedServer(url, vault, path, token_file, token_env)
    if hooks:
        from server.cli.connect_hooks import connect_hooks

        connect_hooks(client, file, wanted if not undo else None, named_data(ctx), print_only=print_only)
        return
    known = _known(client)
    target = Path(file or known.file(UserFolders(Path.home(), command_environment(PLACES)))).absolute()
    if undo:
        report_change(disconnect_client(known, target, name), name)
        return
    entry = _entry(known, wanted, named_data(ctx))
    if print_only:
        say(show_entry(known, name, entry).rstrip("\n"))
        say_on_stderr(f"strongroom: for {target}")
        return
    report_change(connect_client(known, target, name, entry), name)
    if url and token_file is None and token_env:
        say(f"{known.title} reads the token from {token_env}: set it where {known.title} starts")


def _known(client: str) -> KnownClient:
    from server.setup.clients.known_clients import CLIENTS
    from vaults.errors import InvalidArgument

    if client not in CLIENTS:
        raise InvalidArgument("CLIENT", f"must be one of {', '.join(CLIENTS)}")
    return CLIENTS[client]


def _entry(client: KnownClient, wanted: WantedServer, data: Path | None) -> dict[str, Any]:
    from server.setup.clients.server_entry import ConnectedServer, started_by_client
    from vaults.errors import InvalidArgument

    check_vault(wanted.vault)
    if wanted.url is None:
        return client.started(started_by_client(local_arguments(wanted, data)))
    if wanted.path is not None:
        raise InvalidArgument("--path", "and --url exclude each other")
    endpoint = vault_endpoint(wanted.url, wanted.vault)
    if wanted.token_file is not None:
        token_file = wanted.token_file.expanduser().absolute()
        return client.started(started_by_client(["--url", endpoint, "--token-file", str(token_file)]))
    if client.connected is None:
        raise InvalidArgument(
            "--token-file", f"is needed: {client.title} reads no token from a variable, strongroom stdio reads a file"
        )
    if wanted.token_env and not VARIABLE.fullmatch(wanted.token_env):
        raise InvalidArgument("--token-env", "must be the name of a variable, not a token")
    if wanted.token_env.startswith("STRONGROOM_") and wanted.token_env != TOKEN_ENV:
        raise InvalidArgument("--token-env", f"must be {TOKEN_ENV} or begin otherwise: STRONGROOM_… are settings")
    return client.connected(ConnectedServer(endpoint, wanted.token_env))
