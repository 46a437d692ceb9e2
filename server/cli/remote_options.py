"""``--url`` and ``--token-file``: a vault on another server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

Url = Annotated[str | None, typer.Option(help="a remote server, or the URL of one vault's /mcp")]
TokenFile = Annotated[Path | None, typer.Option(help="file with the access token for --url")]


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """Where a remote vault is, and what opens it."""

    url: str
    token_file: Path


def to_remote(url: str | None, token_file: Path | None) -> RemoteServer | None:
    """The remote server of a command; None: the vault is here. Raises ``InvalidArgument`` for one without the other."""
    from vaults.errors import InvalidArgument

    if url is None and token_file is None:
        return None
    if url is None or token_file is None:
        raise InvalidArgument("--token-file" if url else "--url", "is missing: both go together")
    return RemoteServer(url, token_file)
