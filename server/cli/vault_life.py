"""``strongroom vault unarchive|rename|copy|delete``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ops.vault_life.deletion import DeletedVault
    from server.settings import LoadedSettings
    from vaults.registry import VaultEntry

Name = Annotated[str, typer.Argument(metavar="NAME", help="the vault's name")]


def add_commands(group: typer.Typer) -> None:
    group.command("unarchive")(unarchive)
    group.command("rename")(rename)
    group.command("copy")(copy)
    group.command("delete")(delete)


def unarchive(ctx: typer.Context, name: Name) -> None:
    """Put an archived vault back into service."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    entry = run_async(_unarchive(load_settings(ctx), name))
    say(f"vault {entry.name} is served again: /v/{entry.name}/mcp")


async def _unarchive(loaded: LoadedSettings, name: str) -> VaultEntry:
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control, recorded(loaded, "vault", "unarchive", vault=name):
        return await control.write(lambda tx: registry.unarchive(tx, name))


def rename(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="its name now")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="its name from now on")],
) -> None:
    """Give a vault another name. Tokens, grants and its plan go along; its old URL answers like that of no vault."""
    from server.cli.output import say, say_on_stderr
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    entry = run_async(_rename(loaded, old, new))
    say(f"vault {old} is {entry.name} now: /v/{entry.name}/mcp")
    if old in loaded.settings.storage.vaults:
        say_on_stderr(f"strongroom: the settings limit {old} by name (storage.vaults): say {new} there too")


async def _rename(loaded: LoadedSettings, old: str, new: str) -> VaultEntry:
    from ops.vault_life import renames
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control, recorded(loaded, "vault", "rename", vault=old, to=new):
        if control.is_shared:
            from server.cluster import vault_life

            return await vault_life.rename(control, old, new)
        return await renames.rename(control, loaded.data, old, new)


def copy(
    ctx: typer.Context,
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="the name of the copy")],
) -> None:
    """Make a second vault with what this one holds. Nobody has a grant for it yet; the first goes on being served."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    entry = run_async(_copy(load_settings(ctx), name, new))
    say(f"vault {entry.name} is a copy of {name}: /v/{entry.name}/mcp")


async def _copy(loaded: LoadedSettings, name: str, new: str) -> VaultEntry:
    from ops.vault_life import copies
    from ops.vault_life.copies import CopySettings
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from server.version import version

    if loaded.settings.cluster.is_on:
        return await _copy_shared(loaded, name, new)
    settings = CopySettings(version(), loaded.settings.storage, loaded.settings.notes)
    async with open_control(loaded) as control, recorded(loaded, "vault", "copy", vault=name, to=new):
        return await copies.copy(control, loaded.data, name, new, settings)


async def _copy_shared(loaded: LoadedSettings, name: str, new: str) -> VaultEntry:
    """As one of the servers for as long as it takes."""
    from server import vault_admin
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_all

    async with open_all(loaded) as services, recorded(loaded, "vault", "copy", vault=name, to=new):
        return await vault_admin.copy(services, name, new)


def delete(
    ctx: typer.Context,
    name: Name,
    *,
    confirm: Annotated[str | None, typer.Option(metavar="NAME", help="the name again; asked for on a terminal")] = None,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="leave no last backup")] = False,
) -> None:
    """Delete a vault for good. A last backup is made, then its files are overwritten and removed; of a folder served
    in place only .strongroom/ goes."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    if confirm is None and _is_at_a_terminal():
        run_async(_require(loaded, name))
        confirm = typer.prompt(f"This deletes vault {name} for good. Its name again", err=True)
    gone = run_async(_delete(loaded, name, confirm, keep=not no_backup))
    say(f"vault {name} is deleted; " + (f"its last backup: {gone.backup}" if gone.backup else "there is no backup"))


def _is_at_a_terminal() -> bool:
    import sys

    return sys.stdin.isatty()


async def _require(loaded: LoadedSettings, name: str) -> None:
    """Raise ``NotFound`` for a vault that does not exist, before anybody is asked about it."""
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control:
        await control.read(lambda tx: registry.get(tx, name))


async def _delete(loaded: LoadedSettings, name: str, confirm: str | None, *, keep: bool) -> DeletedVault:
    from functools import partial

    from ops.vault_life import deletion
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control
    from server.last_backups import back_up_last

    if loaded.settings.cluster.is_on:
        return await _delete_shared(loaded, name, confirm, keep=keep)
    async with open_control(loaded) as control, recorded(loaded, "vault", "delete", vault=name):
        last = partial(back_up_last, control, loaded.data, loaded.settings) if keep else None
        return await deletion.delete(control, loaded.data, name, confirm=confirm, last_backup=last)


async def _delete_shared(loaded: LoadedSettings, name: str, confirm: str | None, *, keep: bool) -> DeletedVault:
    """Whoever holds it hands it over to this process, which deletes it."""
    from server import vault_admin
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_all
    from vaults.errors import InvalidArgument

    if not keep:
        raise InvalidArgument("--no-backup", "is for one machine", hint="leave it out: remove the last backup after")
    async with open_all(loaded) as services, recorded(loaded, "vault", "delete", vault=name):
        return await vault_admin.delete(services, name, confirm=confirm)
