"""``strongroom import`` and ``strongroom export``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from server.remote_vault.vault_client import RemoteVault
    from server.settings import LoadedSettings
    from vaults.domain.import_export.exports import ExportFormat
    from vaults.domain.import_export.imports import ImportTally

Url = Annotated[str | None, typer.Option(help="a remote server, or the URL of one vault's /mcp")]
TokenFile = Annotated[Path | None, typer.Option(help="file with the access token for --url")]
PLANNED_SOURCES = (
    "moltmind", "mempack", "local-recall", "nano-brain", "flywheel", "basic-memory", "mcp-memory-service",
    "mcp-server-memory", "markdown",
)  # fmt: skip
"""Sources that are promised but not built yet."""


def add_to(app: typer.Typer) -> None:
    app.command("import")(import_)
    app.command("export")(export)


def import_(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="what wrote the file: jsonl")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="the file to read")],
    vault: Annotated[str, typer.Option(help="the vault")],
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Store memories from a file. Safe to run again; lines that are no memories are kept beside the file."""
    from server.cli.output import say, say_on_stderr
    from server.cli.runtime import load_settings
    from vaults.domain.import_export.imports import REPORT_SUFFIX
    from vaults.errors import InvalidArgument

    if source in PLANNED_SOURCES:
        raise InvalidArgument("SOURCE", f"{source} is not available yet; jsonl is")
    if source != "jsonl":
        raise InvalidArgument("SOURCE", f"{source} is not known; jsonl is")
    tally = _import_and_report(load_settings(ctx), path, vault, _remote_options(url, token_file))
    say(_counts(tally))
    if tally.merged:
        say_on_stderr(f"{tally.merged} of those known told tags or other details that were not there yet")
    if tally.owed:
        say_on_stderr(f"{tally.owed} have no vector yet; a running server adds them")
    for rejection in tally.unwritten:
        say_on_stderr(f"line {rejection.line}: {rejection.reason}")
    if tally.rejected > len(tally.unwritten):
        say_on_stderr(f"see {path.name}{REPORT_SUFFIX}")
    raise typer.Exit(1 if tally.rejected else 0)


def _import_and_report(loaded: LoadedSettings, path: Path, vault: str, remote: tuple[str, Path] | None) -> ImportTally:
    """Import; if that ends early, report how far it came."""
    from server.cli.output import say_on_stderr
    from server.cli.runtime import run_async
    from vaults.errors import StrongroomError

    course = _ImportProgress()
    try:
        return run_async(_import(loaded, path, vault, remote, course))
    except KeyboardInterrupt:
        say_on_stderr(f"interrupted: {course.summary}")
        raise
    except StrongroomError:
        if course.last is not None:
            say_on_stderr(f"ended early: {course.summary}")
        raise


def _remote_options(url: str | None, token_file: Path | None) -> tuple[str, Path] | None:
    from vaults.errors import InvalidArgument

    if url is None and token_file is None:
        return None
    if url is None or token_file is None:
        raise InvalidArgument("--token-file" if url else "--url", "is missing: both go together")
    return url, token_file


@dataclass(slots=True)
class _ImportProgress:
    """How far an import came, to report if it ends early."""

    last: ImportTally | None = None

    @property
    def summary(self) -> str:
        """What is stored, and how to go on."""
        again = "run the same command again to go on: what is stored already is left alone"
        if self.last is None:
            return f"nothing was stored yet; {again}"
        share = f"{100 * self.last.read // self.last.size} % of the file" if self.last.size else "the file"
        return f"{_counts(self.last)}, after {share}; {again}"


def _counts(tally: ImportTally) -> str:
    return f"{tally.stored} stored, {tally.known} known already, {tally.rejected} rejected"


async def _import(
    loaded: LoadedSettings, path: Path, vault: str, remote: tuple[str, Path] | None, course: _ImportProgress
) -> ImportTally:
    from server.cli.output import progress

    with progress("importing") as advance:

        def shown(tally: ImportTally) -> None:
            course.last = tally
            advance(tally.read, tally.size, _counts(tally))

        if remote is None:
            return await _import_locally(loaded, path, vault, shown)
        async with _connect(remote, vault) as remote_vault:
            return await remote_vault.push(path, shown)


async def _import_locally(
    loaded: LoadedSettings, path: Path, vault: str, shown: Callable[[ImportTally], None]
) -> ImportTally:
    from auth.principal import owner
    from server.allowance import StoreQuota
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.import_export.imports import import_jsonl

    async with open_all(loaded) as services, services.pool.lease(require_vault(services, vault)) as local_vault:
        actor = Actor("owner", "owner")
        quota = StoreQuota(services, owner("cli"), local_vault, actor.identity)
        return await import_jsonl(local_vault, actor, path, shown, quota)


@asynccontextmanager
async def _connect(remote: tuple[str, Path], vault: str) -> AsyncIterator[RemoteVault]:
    from server.remote_vault.vault_client import connect_to_vault

    async with connect_to_vault(*remote, vault) as remote_vault:
        yield remote_vault


def export(
    ctx: typer.Context,
    vault: Annotated[str, typer.Option(help="the vault")],
    to: Annotated[Path, typer.Option(help="folder to write to")],
    shape: Annotated[Literal["jsonl", "markdown", "both"], typer.Option("--format", help="what to write")] = "both",
    url: Url = None,
    token_file: TokenFile = None,
) -> None:
    """Write every memory to a folder. Private and archived ones too: memories.jsonl, and a Markdown file each."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    formats: list[ExportFormat] = ["jsonl", "markdown"] if shape == "both" else [shape]
    count = run_async(_export(load_settings(ctx), vault, to, formats, _remote_options(url, token_file)))
    say(f"{count} memories written to {to}")


async def _export(
    loaded: LoadedSettings, vault: str, to: Path, formats: list[ExportFormat], remote: tuple[str, Path] | None
) -> int:
    from server.cli.output import progress
    from server.cli.runtime import open_vault
    from vaults.domain.import_export.exports import export

    with progress("exporting") as advance:

        def shown(done: int, total: int, /) -> Any:
            advance(done, total, f"{done} memories")

        if remote is not None:
            async with _connect(remote, vault) as remote_vault:
                return await remote_vault.pull(to, formats, shown)
        async with open_vault(loaded, vault) as local_vault:
            return await export(local_vault, to, formats, shown)
