"""``strongroom import``: what other systems stored, into a vault here or on another server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings
    from vaults.domain.import_export.import_runs import ImportRun
    from vaults.domain.import_export.run_undo import UndoTally
    from vaults.domain.import_export.source_import import ImportPlan, ImportTally
    from vaults.vault import Vault

MAX_RUNS_SHOWN = 50


def add_to(app: typer.Typer) -> None:
    app.command("import")(import_)


def import_(
    ctx: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE|list|undo", help="what wrote it; list and undo: former imports; without: what there is"
        ),
    ] = None,
    path: Annotated[Path | None, typer.Argument(metavar="PATH|RUN", help="what to read; the run to undo")] = None,
    vault: Annotated[str | None, typer.Option(help="the vault")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="count and show what would come; store nothing")] = False,
    workspace: Annotated[str | None, typer.Option(help="project of what names none")] = None,
    rules: Annotated[
        list[str] | None, typer.Option("--map", help="FIELD=NEW, FIELD= (drop it) or FIELD:VALUE=NEW; may be repeated")
    ] = None,
    url: Url = None,
    token_file: TokenFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Bring what another system stored. Safe to run again; what cannot be taken is kept beside it, with the reason."""
    from server.cli import import_views
    from server.cli.remote_options import to_remote
    from server.cli.runtime import load_settings, run_async

    if source is None:
        import_views.show_sources(_find_sources(), as_json=as_json)
        return
    remote = to_remote(url, token_file)
    if source == "list":
        runs = run_async(_list_runs(load_settings(ctx), _require(vault, "--vault"), remote))
        import_views.show_runs(runs, as_json=as_json)
    elif source == "undo":
        run, name = str(_require(path, "RUN")), _require(vault, "--vault")
        import_views.show_undone(run_async(_undo(load_settings(ctx), name, run, remote)), as_json=as_json)
    else:
        plan = _to_plan(source, _require(path, "PATH"), rules or [], workspace)
        if dry_run:
            import_views.show_preview(run_async(_preview(plan)), as_json=as_json)
            return
        tally = _import_and_report(load_settings(ctx), plan, _require(vault, "--vault"), remote)
        import_views.show_tally(plan, tally, as_json=as_json)
        raise typer.Exit(1 if tally.rejected else 0)


def _require(value: Any, name: str) -> Any:
    from vaults.errors import InvalidArgument

    if value is None:
        raise InvalidArgument(name, "is missing")
    return value


def _to_plan(source: str, path: Path, rules: list[str], workspace: str | None) -> ImportPlan:
    from vaults.domain.import_export.field_map import FieldMap, parse_field_map
    from vaults.domain.import_export.source_import import ImportPlan
    from vaults.sources.known import find_source

    found, field_map = find_source(source), parse_field_map(rules)
    if found.with_columns is not None:
        found, field_map = found.with_columns(field_map.fields), FieldMap(values=field_map.values)
    return ImportPlan(found, path, field_map, workspace)


def _find_sources() -> list[tuple[str, Path]]:
    """What lies on this machine, by the name of its source."""
    from vaults.sources.known import SOURCES
    from vaults.sources.source import SearchPlaces

    places = SearchPlaces(Path.home(), Path.cwd())
    return [(source.name, path) for source in SOURCES.values() for path in source.find(places)]


async def _preview(plan: ImportPlan) -> ImportTally:
    from server.cli.output import progress
    from vaults.domain.import_export.source_import import preview_source

    with progress("reading") as advance:
        return await preview_source(plan, lambda tally: advance(tally.done, tally.total, f"{tally.stored} records"))


def _import_and_report(
    loaded: LoadedSettings, plan: ImportPlan, vault: str, remote: RemoteServer | None
) -> ImportTally:
    """Import; if that ends early, report how far it came."""
    from server.cli.output import say_on_stderr
    from server.cli.runtime import run_async
    from vaults.errors import StrongroomError

    course = _ImportProgress(plan.path.name)
    try:
        return run_async(_import(loaded, plan, vault, remote, course))
    except KeyboardInterrupt:
        say_on_stderr(f"interrupted: {course.summary}")
        raise
    except StrongroomError:
        if course.last is not None:
            say_on_stderr(f"ended early: {course.summary}")
        raise


@dataclass(slots=True)
class _ImportProgress:
    """How far an import came, to report if it ends early."""

    name: str  # of what is read
    last: ImportTally | None = None

    @property
    def summary(self) -> str:
        """What is stored, and how to go on."""
        from server.cli.import_views import describe_counts

        again = "run the same command again to go on: what is stored already is left alone"
        if self.last is None:
            return f"nothing was stored yet; {again}"
        share = f"{100 * self.last.done // self.last.total} %" if self.last.total else "a part"
        return f"{describe_counts(self.last)}, after {share} of {self.name}; {again}"


async def _import(
    loaded: LoadedSettings, plan: ImportPlan, vault: str, remote: RemoteServer | None, course: _ImportProgress
) -> ImportTally:
    from server.cli.import_views import describe_counts
    from server.cli.output import progress

    with progress("importing") as advance:

        def shown(tally: ImportTally) -> None:
            course.last = tally
            advance(tally.done, tally.total, describe_counts(tally))

        if remote is None:
            return await _import_locally(loaded, plan, vault, shown)
        from server.remote_vault.vault_client import connect_to_vault

        async with connect_to_vault(remote.url, remote.token_file, vault) as remote_vault:
            return await remote_vault.push(plan, shown)


async def _import_locally(
    loaded: LoadedSettings, plan: ImportPlan, vault: str, shown: Callable[[ImportTally], None]
) -> ImportTally:
    import gc

    from auth.principal import owner
    from server.allowance import StoreQuota
    from server.cli.admin_acts import recorded_in
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.import_export.vault_import import import_into_vault

    async with (
        open_all(loaded) as services,
        services.pool.lease(require_vault(services, vault)) as local_vault,
        recorded_in(services, vault, "import"),
    ):
        gc.freeze()  # what is loaded by now stays: the collector need not walk it for every batch
        actor = Actor("owner", "owner")
        quota = StoreQuota(services, owner("cli"), local_vault, actor.identity)
        tally = await import_into_vault(local_vault, actor, plan, shown, quota)
        await add_vectors(local_vault)
        return tally


async def add_vectors(vault: Vault) -> None:
    """Wait for the vectors of what was stored, unless another process adds them."""
    from server.cli.output import progress, say_on_stderr
    from vaults.index import embeddings

    vault.embedder.loads_for_backfill = True  # whoever started the import waits for them
    vault.start_background_work()
    total = await vault.db.read(embeddings.count_missing)
    with progress("adding vectors") as advance:
        while vault.background.is_busy:
            left = await vault.db.read(embeddings.count_missing)
            advance(max(0, total - left), total, "what is stored is found by its words already")
            await vault.background.wait(1.0)
    if left := await vault.db.read(embeddings.count_missing):
        say_on_stderr(f"{left} have no vector yet; a running server adds them")


async def _list_runs(loaded: LoadedSettings, name: str, remote: RemoteServer | None) -> list[ImportRun]:
    from server.cli.runtime import open_vault
    from vaults.domain.actors import Actor
    from vaults.domain.import_export import import_runs

    if remote is not None:
        from server.remote_vault.vault_client import connect_to_vault

        async with connect_to_vault(remote.url, remote.token_file, name) as remote_vault:
            return await remote_vault.list_import_runs()
    async with open_vault(loaded, name) as vault:
        return await vault.db.read(lambda tx: import_runs.list_runs(tx, Actor("owner", "owner"), MAX_RUNS_SHOWN))


async def _undo(loaded: LoadedSettings, name: str, run_id: str, remote: RemoteServer | None) -> UndoTally:
    from server.cli.output import progress
    from server.cli.runtime import change_vault
    from vaults.domain.actors import Actor
    from vaults.domain.import_export import import_runs, run_undo

    with progress("undoing") as advance:
        if remote is not None:
            from server.remote_vault.vault_client import connect_to_vault

            async with connect_to_vault(remote.url, remote.token_file, name) as remote_vault:
                return await remote_vault.undo_import(
                    run_id, lambda tally, total: advance(tally.total, total, f"{tally.total} records")
                )
        actor = Actor("owner", "owner")
        async with change_vault(loaded, name, "import", "undo") as vault:
            run = await vault.db.read(lambda tx: import_runs.find(tx, actor, run_id))
            return await run_undo.undo(
                vault, actor, run, lambda tally: advance(tally.total, run.brought, f"{tally.total} records")
            )
