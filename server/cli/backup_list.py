"""``strongroom backup list``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ops.backup.backup_runs import BackupRun
    from ops.backup.store import BackupStore
    from server.settings import LoadedSettings


def show_list(
    ctx: typer.Context,
    vault: Annotated[str | None, typer.Option(help="this vault only; default: every vault")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """List backups and how they went. Newest first, each vault with those in backup.to, also ones this installation
    did not make; then those of the installation, of vaults that were deleted and of strangers."""
    from server.cli.output import say, say_json, say_table
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    found = run_async(_list(loaded, vault))
    if as_json:
        say_json({"to": loaded.settings.backup.to, "backups": found})
    elif found:
        heads = ("VAULT", "WHEN", "OUTCOME", "BYTES", "MOVED", "SECONDS", "WHERE")
        say_table(heads, [_row(each) for each in found])
    else:
        say("no backup was made yet")


def _row(backup: dict[str, Any]) -> tuple[str, ...]:
    def number(name: str, form: str) -> str:
        return "" if backup[name] is None else format(backup[name], form)

    where = backup["target"] if backup["there"] is not False else "gone: rotated"
    return (
        "(installation)" if backup["vault_id"] == "" else backup["vault"] or "?",
        backup["began_at"],
        backup["outcome"],
        number("size", ","),
        number("moved", ","),
        number("seconds", ".1f"),
        where if backup["outcome"] == "ok" else "",
    )


async def _list(loaded: LoadedSettings, vault: str | None) -> list[dict[str, Any]]:
    import asyncio

    from ops.backup.backup_runs import list_ids, list_runs
    from ops.backup.stores import open_store
    from server.cli.runtime import open_control
    from vaults.errors import NotFound
    from vaults.registry import list_vaults

    async with open_control(loaded) as control:
        entries = await control.read(list_vaults)
        names = {each.vault_id: each.name for each in entries if vault in (None, each.name)}
        if vault is None:
            names = {**names, **{id_: name for id_, name in (await control.read(list_ids)).items() if id_ not in names}}
        runs = await control.read(lambda tx: {id_: list_runs(tx, id_) for id_ in names})
    if vault is not None and not names:
        raise NotFound(f"no vault {vault}", hint="vault list shows what there is")
    store = await asyncio.to_thread(open_store, loaded.settings.backup) if loaded.settings.backup.to else None
    strangers = await asyncio.to_thread(_strangers, store, names) if store and vault is None else []
    found = []
    for vault_id in [*names, *strangers]:
        found += await asyncio.to_thread(_of_vault, store, vault_id, names.get(vault_id, ""), runs.get(vault_id, []))
    return found


def _strangers(store: BackupStore, known: dict[str, str]) -> list[str]:
    """Ids of vaults that have backups in the store and are not of this installation: of one that was lost, perhaps."""
    return [each for each in store.list_folders("vaults") if each not in known]


def _of_vault(store: BackupStore | None, vault_id: str, name: str, runs: list[BackupRun]) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from ops.backup.snapshots import list_snapshots, snapshot_key

    there = list_snapshots(store, vault_id) if store and vault_id else []
    targets = {f"{store.name}/{snapshot_key(vault_id, each)}": each for each in there} if store else {}
    listed = [asdict(run) | {"there": _is_there(run, store, targets)} for run in runs]
    known = {run.target for run in runs}
    for target, each in targets.items():
        if target not in known:
            listed.append(_unlogged(vault_id, name, target, each.moment))
    return sorted(listed, key=lambda each: str(each["began_at"]), reverse=True)


def _is_there(run: BackupRun, store: BackupStore | None, targets: dict[str, Any]) -> bool | None:
    """None: it is no snapshot of this store, and was not looked for."""
    if store is None or not run.is_good or not run.target.startswith(f"{store.name}/vaults/"):
        return None
    return run.target in targets


def _unlogged(vault_id: str, name: str, target: str, moment: str) -> dict[str, Any]:
    from datetime import datetime

    made = datetime.strptime(moment, "%Y%m%dT%H%M%SZ")  # noqa: DTZ007  UTC, as all of them
    return {
        "vault_id": vault_id, "vault": name, "began_at": f"{made.isoformat()}.000Z", "seconds": None, "size": None,
        "moved": None, "target": target, "position": None, "outcome": "ok", "there": True,
    }  # fmt: skip
