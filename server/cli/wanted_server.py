"""Which server and vault ``strongroom connect`` writes down, as its options say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import typer


@dataclass(frozen=True, slots=True)
class WantedServer:
    """The options that say which server and vault."""

    url: str | None
    vault: str | None
    path: Path | None
    token_file: Path | None
    token_env: str


def check_vault(vault: str | None) -> None:
    """Raises ``InvalidArgument`` for what is no name of a vault."""
    from vaults.errors import InvalidArgument
    from vaults.registry import NAME_RULE, is_valid_name

    if vault is not None and not is_valid_name(vault):
        raise InvalidArgument("--vault", NAME_RULE)


def vault_endpoint(url: str, vault: str | None) -> str:
    """The URL of a vault. Raises ``InvalidArgument``."""
    from server.remote_vault.endpoint import endpoint_of
    from server.setup.first_start import FIRST_VAULT
    from vaults.errors import InvalidArgument

    if re.search(r"[@?#]", url):  # a name and password, or a token: they would be written into the file
        raise InvalidArgument("--url", "must have no user, query or fragment: secrets are never written into the file")
    return endpoint_of(url, vault or FIRST_VAULT)


def named_data(ctx: typer.Context) -> Path | None:
    """The data folder that was named: the client starts in another environment than this one."""
    from server.settings import command_environment

    given = ctx.find_root().obj
    if given is not None and given.data is not None:
        return Path(given.data)
    named = command_environment(["STRONGROOM_DATA"]).get("STRONGROOM_DATA")
    return Path(named) if named else None


def local_arguments(wanted: WantedServer, data: Path | None) -> list[str]:
    """The options of a command over a folder or vault here. Raises ``InvalidArgument``."""
    from vaults.errors import InvalidArgument

    if wanted.token_file is not None:
        raise InvalidArgument("--url", "is missing: --token-file goes with it")
    if wanted.path is not None and wanted.vault is not None:
        raise InvalidArgument("--path", "and --vault exclude each other")
    if wanted.path is not None and not wanted.path.is_dir():
        raise InvalidArgument("--path", f"{wanted.path} is not a folder")
    if wanted.path is not None:  # which has a data folder of its own
        return ["--path", str(wanted.path.absolute())]
    given = {"--data": data and str(data.expanduser().absolute()), "--vault": wanted.vault}
    return [word for option, value in given.items() if value for word in (option, value)]
