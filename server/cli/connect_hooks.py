"""``strongroom connect --hooks``: our hooks in the files of a client."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from server.cli.connection_reports import report_change
from server.cli.wanted_server import WantedServer, check_vault, local_arguments, vault_endpoint

if TYPE_CHECKING:
    from server.setup.clients.hook_files import HookSetup


def connect_hooks(
    client: str, file: Path | None, wanted: WantedServer | None, data: Path | None, *, print_only: bool
) -> None:
    """Write, show or, where nothing is wanted, take out the hooks of a client."""
    from server.cli.output import say, say_on_stderr
    from server.setup.clients.config_edits import undo_edit, write_edit

    setup = _setup(client, [] if wanted is None else _hook_options(wanted, data))
    target = (file or setup.file).absolute()
    if wanted is None:
        report_change(undo_edit(setup.edit, target), "the hooks")
    elif print_only:
        say(setup.show().rstrip("\n"))
        say_on_stderr(f"strongroom: for {target}")
    else:
        report_change(write_edit(setup.edit, target, setup.entry), "the hooks")
        if setup.afterwards:
            say(setup.afterwards)


def _hook_options(wanted: WantedServer, data: Path | None) -> list[str]:
    from vaults.errors import InvalidArgument

    check_vault(wanted.vault)
    if wanted.path is not None:
        raise InvalidArgument(
            "--path", "and --hooks exclude each other: hooks find the project by where the agent works"
        )
    if wanted.url is None:
        return local_arguments(wanted, data)
    if wanted.token_file is None:
        raise InvalidArgument("--token-file", "is needed with --url and --hooks")
    token_file = str(wanted.token_file.expanduser().absolute())
    return ["--url", vault_endpoint(wanted.url, wanted.vault), "--token-file", token_file]


def _setup(client: str, options: Sequence[str]) -> HookSetup:
    """What is to be written for a client. Raises ``InvalidArgument`` if it has no hooks that are known."""
    from server.settings import command_environment
    from server.setup.clients.hook_files import HOOK_CLIENTS, hook_setup
    from server.setup.clients.known_clients import PLACES, UserFolders
    from server.setup.clients.server_entry import started_by_client
    from vaults.errors import InvalidArgument

    if client not in HOOK_CLIENTS:
        raise InvalidArgument("CLIENT", f"must be one of {', '.join(HOOK_CLIENTS)} with --hooks")
    where = UserFolders(Path.home(), command_environment(PLACES))
    return hook_setup(client, where, started_by_client(()).command, options)
