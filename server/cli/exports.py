"""``strongroom export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings
    from vaults.domain.import_export.exports import ExportFormat


def add_to(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    ctx: typer.Context,
    vault: Annotated[str, typer.Option(help="the vault")],
    to: Annotated[Path, typer.Option(help="folder to write to")],
    shape: Annotated[Literal["jsonl", "markdown", "both"], typer.Option("--format", help="what to write")] = "both",
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Write a vault to a folder. Private and archived memories too: memories.jsonl, and a Markdown file each; sessions,
    handoffs and other records: records.jsonl."""
    from server.cli.output import say
    from server.cli.remote_options import to_remote
    from server.cli.runtime import load_settings, run_async

    formats: list[ExportFormat] = ["jsonl", "markdown"] if shape == "both" else [shape]
    count = run_async(_export(load_settings(ctx), vault, to, formats, to_remote(url, token_file)))
    say(f"{count} memories written to {to}")


async def _export(
    loaded: LoadedSettings, vault: str, to: Path, formats: list[ExportFormat], remote: RemoteServer | None
) -> int:
    from ops.audit.entries import AuditEntry
    from server.cli.admin_acts import operator
    from server.cli.output import progress
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.import_export.exports import export

    with progress("exporting") as advance:

        def shown(done: int, total: int, /) -> Any:
            advance(done, total, f"{done} memories")

        if remote is not None:
            from server.remote_vault.vault_client import connect_to_vault

            async with connect_to_vault(remote.url, remote.token_file, vault) as remote_vault:
                return await remote_vault.pull(to, formats, shown)
        async with open_all(loaded) as services, services.pool.lease(require_vault(services, vault)) as local_vault:
            done = await export(local_vault, to, formats, shown)
            act = AuditEntry("act", "export", "ok", actor=operator(), vault=vault)
            await services.audit.try_append(local_vault.entry.vault_id, act)
            return done
