"""``strongroom vault …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from server.cli import vault_life

if TYPE_CHECKING:
    from server.settings import LoadedSettings
    from vaults.registry import VaultEntry, VaultRules

Name = Annotated[str, typer.Argument(metavar="NAME", help="the vault's name")]
Mode = Annotated[
    Literal["auto", "ask", "off"] | None,
    typer.Option("--write-mode", help="may tools write; ask: a person agrees first"),
]
Destructive = Annotated[
    Literal["ask", "auto"] | None, typer.Option(help="purging, deleting, archiving; ask: a person agrees first")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(
        name="vault", help="Create, list, change, rename, copy, archive and delete vaults.", no_args_is_help=True
    )
    group.command("create")(create)
    group.command("list")(show_list)
    group.command("info")(info)
    group.command("update")(update)
    group.command("archive")(archive)
    vault_life.add_commands(group)
    app.add_typer(group)


def create(
    ctx: typer.Context,
    name: Name,
    path: Annotated[Path | None, typer.Option(help="folder to serve in place; its state lies in .strongroom/")] = None,
    write_mode: Mode = None,
    destructive: Destructive = None,
) -> None:
    """Make a vault. A running server serves it within seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async
    from vaults.registry import VaultRules

    entry = run_async(_create(load_settings(ctx), name, path, VaultRules(write_mode, destructive)))
    say(f"vault {entry.name} is ready: /v/{entry.name}/mcp")


async def _create(loaded: LoadedSettings, name: str, path: Path | None, rules: VaultRules) -> VaultEntry:
    from dataclasses import asdict

    from server import vault_admin
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from vaults import registry
    from vaults.errors import InvalidArgument

    if path is not None and not path.is_dir():
        raise InvalidArgument("--path", f"{path} is not a folder")
    async with open_control(loaded) as control, recorded(loaded, "vault", "create", vault=name, **asdict(rules)):
        return await vault_admin.register(
            control,
            loaded.data,
            loaded.settings.storage,
            name,
            path,
            also=lambda tx: registry.set_rules(tx, name, rules),
        )


def show_list(ctx: typer.Context, as_json: Json = False) -> None:
    """List every vault, archived ones too."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    entries = run_async(_entries(load_settings(ctx)))
    if as_json:
        say_json({"vaults": [_line(entry) for entry in entries]})
    else:
        rows = [(each.name, each.state, each.created_at, each.path or "") for each in entries]
        say_table(("VAULT", "STATE", "CREATED", "PATH"), rows)


async def _entries(loaded: LoadedSettings) -> list[VaultEntry]:
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control:
        return await control.read(registry.list_vaults)


def _line(entry: VaultEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "state": entry.state,
        "path": str(entry.path) if entry.path else None,
        "preset": entry.preset,
        "write_mode": entry.write_mode,
        "destructive": entry.destructive,
        "created_at": entry.created_at,
    }


def info(ctx: typer.Context, name: Name, as_json: Json = False) -> None:
    """Show what a vault holds and how well it is."""
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    found = run_async(_info(load_settings(ctx), name))
    if as_json:
        say_json(found)
        return
    memories, embedding, notes = found["memories"], found["embedding"], found["notes"]
    say(f"vault      {name} ({found['state']}, created {found['created_at']})")
    say(f"folder     {found['folder']}")
    say(f"writing    {found['write_mode']}; what destroys: {found['destructive']}")
    say(f"memories   {memories['living']}, {memories['archived']} archived, {memories['superseded']} superseded")
    say(f"notes      {notes['notes']} in {found['notes_folder']}, {notes['skipped']} files left out")
    say(f"watching   {notes['watching']}" + (f", {notes['state']}" if notes["state"] != "ready" else ""))
    say(f"model      {embedding['own'] or 'as the server'}" + _describe_change(embedding["change"]))
    say(f"passages   {found['index']['passages']}, {embedding['pending']} without a vector yet")
    say(f"size       {found['storage_bytes']:,} bytes")


def _describe_change(change: dict[str, Any] | None) -> str:
    if change is None:
        return ""
    reason = f" ({change['reason']})" if change["reason"] else ""
    return f", changing to {change['to']}: {change['done']:,} of {change['total']:,} passages{reason}"


async def _info(loaded: LoadedSettings, name: str) -> dict[str, Any]:
    from dataclasses import asdict

    from server.cli.runtime import open_vault
    from vaults.domain.maintenance.vault_status import read_status
    from vaults.domain.notes.sync import readiness

    async with open_vault(loaded, name) as vault:
        await readiness.wait_until_synced(vault)
        return {
            **_line(vault.entry),
            **asdict(await read_status(vault, None)),
            "folder": str(vault.folder),
            "notes_folder": str(vault.notes.root),
        }


def update(
    ctx: typer.Context,
    name: Name,
    write_mode: Mode = None,
    destructive: Destructive = None,
    query_context: Annotated[
        Literal["on", "off", "default"] | None,
        typer.Option(help="keep what calls ask for; default: as telemetry.query_context"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="embed it with this model: a name or folder, endpoint:NAME for one behind embedding.endpoint, or "
            "default for the server's; the one before answers until all is embedded"
        ),
    ] = None,
) -> None:
    """Change how a vault takes writes, and its model. Also what its log keeps; holds on a running server within
    seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async
    from vaults.errors import InvalidArgument
    from vaults.registry import VaultRules

    if (write_mode, destructive, query_context, model) == (None, None, None, None):
        raise InvalidArgument("--write-mode", "or --destructive, --query-context or --model is needed")
    loaded = load_settings(ctx)
    if write_mode is not None or destructive is not None:
        entry = run_async(_update(loaded, name, VaultRules(write_mode, destructive)))
        say(f"vault {entry.name}: writing {entry.write_mode}; what destroys: {entry.destructive}")
    if query_context is not None:
        kept = run_async(_keep_queries(loaded, name, {"on": True, "off": False}.get(query_context)))
        say(f"vault {name}: what calls ask for is {'kept' if kept else 'not kept'}")
    if model is not None:
        say(f"vault {name}: {run_async(_change_model(loaded, name, model))}")


async def _change_model(loaded: LoadedSettings, name: str, model: str) -> str:
    from server.cli.runtime import change_vault, open_control
    from vaults import registry
    from vaults.domain.maintenance import model_change

    async with change_vault(loaded, name, "vault", "update", model=model) as vault:
        choice = await model_change.request(vault, model)
    async with open_control(loaded) as control:
        await control.write(lambda tx: registry.announce_work(tx, vault.entry.vault_id))
    serving, wanted = (each or "the server's model" for each in (choice.serving, choice.wanted))
    if choice.is_settled:
        return f"embedded with {serving}"
    return f"a running server embeds it with {wanted}; until that is done, {serving} answers"


async def _keep_queries(loaded: LoadedSettings, name: str, kept: bool | None) -> bool:
    from server.cli.runtime import change_vault
    from vaults.activity_log import query_contexts

    usual = loaded.settings.telemetry.query_context
    async with change_vault(loaded, name, "vault", "update") as vault:
        await vault.db.write(lambda tx: query_contexts.set_kept(tx, kept=kept))
        return await vault.db.read(lambda tx: query_contexts.is_kept(tx, usual=usual))


async def _update(loaded: LoadedSettings, name: str, rules: VaultRules) -> VaultEntry:
    from dataclasses import asdict

    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control, recorded(loaded, "vault", "update", vault=name, **asdict(rules)):
        return await control.write(lambda tx: registry.set_rules(tx, name, rules))


def archive(ctx: typer.Context, name: Name) -> None:
    """Take a vault out of service. Its files stay."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    run_async(_archive(load_settings(ctx), name))
    say(f"vault {name} is archived; its files stay")


async def _archive(loaded: LoadedSettings, name: str) -> None:
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control, recorded(loaded, "vault", "archive", vault=name):
        await control.write(lambda tx: registry.archive(tx, name))
