"""``strongroom doctor``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ops.doctor.check import DoctorCheck
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.registry import VaultEntry

MAX_DETAILS = 20
"""Max details shown of a check, unless all are asked for."""

COLORS = {"ok": "green", "notice": "cyan", "warning": "yellow", "error": "red"}


def add_to(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(
    ctx: typer.Context,
    vault: Annotated[str | None, typer.Option(help="this vault only; default: every vault")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="do what is safe first, then look")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="all details")] = False,
) -> None:
    """Look whether all is well. Says of the installation and each vault what helps. Of several servers it looks at the
    vault that is named, which is handed over for it. Exit code 1: there are warnings or errors."""
    from dataclasses import asdict

    from ops.doctor.check import is_well
    from server.cli.output import say_json, say_on_stderr
    from server.cli.runtime import run_async

    checks, repaired = run_async(_doctor(ctx, vault, repair=repair))
    if as_json:
        say_json({"well": is_well(checks), "checks": [asdict(each) for each in checks], "repaired": repaired})
    else:
        for line in repaired:
            say_on_stderr(f"repaired: {line}")
        _show(checks, None if verbose else MAX_DETAILS)
    raise typer.Exit(0 if is_well(checks) else 1)


async def _doctor(ctx: typer.Context, vault: str | None, *, repair: bool) -> tuple[list[DoctorCheck], list[str]]:
    from ops.doctor.check import DoctorCheck
    from ops.doctor.machine import Machine, examine_machine
    from server.cli.runtime import load_settings
    from vaults.errors import InvalidArgument

    try:
        loaded = load_settings(ctx)
    except InvalidArgument as failure:
        todo = "mend the setting; strongroom config check looks again"
        return [DoctorCheck("settings", "error", failure.message.removeprefix("Validation error: "), todo)], []
    settings = loaded.settings
    checks = [DoctorCheck("settings", "ok", f"{len(loaded.sources)} are set, the others are as they come")]
    checks += examine_machine(
        Machine(loaded.data, settings.storage, settings.embedding, settings.auth.key_passphrase_file)
    )
    if settings.cluster.is_on:
        checks = [each for each in checks if each.name not in ("audit", "control_db")]
        shared = await _shared(loaded)
        checks += shared
        # All of them would be taken from their servers for it, one after the other.
        if vault is None or any(each.status == "error" for each in shared):
            return checks, []
    elif _is_fresh(checks):
        return checks, []  # the vaults are unknown
    found, repaired = await _vaults(loaded, vault, repair=repair)
    return checks + found, repaired


def _is_fresh(checks: Sequence[DoctorCheck]) -> bool:
    control = next(each for each in checks if each.name == "control_db")
    return control.status in ("error", "notice")


async def _shared(loaded: LoadedSettings) -> list[DoctorCheck]:
    """What several servers share. Where its database is not to be used nothing else is asked of it."""
    import asyncio

    from server.cluster.cluster_check import check_cluster

    found = await asyncio.to_thread(check_cluster, loaded.settings.cluster)
    return [found] if found.status == "error" else [found, await _shared_audit(loaded)]


async def _shared_audit(loaded: LoadedSettings) -> DoctorCheck:
    import asyncio
    from contextlib import AsyncExitStack

    from ops.doctor.audit import NAME, check_shared_audit
    from ops.doctor.check import DoctorCheck
    from server.cli.admin_acts import open_shared_chains
    from vaults.errors import StrongroomError

    async with AsyncExitStack() as stack:
        try:
            chains = await open_shared_chains(stack, loaded)
        except StrongroomError as failure:
            message = f"the audit cannot be reached: {failure.message}"
            return DoctorCheck(NAME, "error", message, str(failure.hint or ""))
        assert chains is not None
        return await asyncio.to_thread(check_shared_audit, chains.unsigned_before)


async def _vaults(loaded: LoadedSettings, vault: str | None, *, repair: bool) -> tuple[list[DoctorCheck], list[str]]:
    from ops.doctor.vaults import examine_vault
    from server.cli.runtime import open_all
    from server.installation_checks import examine_installation
    from vaults.errors import NotFound

    async with open_all(loaded) as services:
        entries = [each for each in services.registry_cache.entries() if vault in (None, each.name)]
        if vault is not None and not entries:
            raise NotFound(f"no vault {vault}", hint="vault list shows what there is")
        ours = await examine_installation(services, entries)
        repaired = [line for entry in entries for line in await _repair(services, entry)] if repair else []
        await services.pool.close()
        onlookers = services.pool.without_background_work()
        try:
            found = [check for entry in entries for check in await examine_vault(onlookers, entry)]
            return ours + found, repaired
        finally:
            await onlookers.close()


async def _repair(services: Services, entry: VaultEntry) -> list[str]:
    from ops.doctor.repairs import repair
    from server.cli.salvage import SalvageRequest, salvage_recorded
    from vaults.errors import StrongroomError, VaultQuarantined

    try:
        async with services.pool.lease(entry) as vault:
            return [f"{entry.name}: {line}" for line in await repair(vault)]
    except VaultQuarantined as failure:
        if failure.details.get("reason") != "damaged":
            return []  # its check says why
        try:
            return (await salvage_recorded(services, entry, SalvageRequest())).to_lines()
        except StrongroomError as refusal:
            return [f"{entry.name}: not salvaged: {refusal.message}"]
    except StrongroomError:
        return []  # it does not open: its check says why


def _show(checks: Sequence[DoctorCheck], limit: int | None) -> None:
    if sys.stdout.isatty():
        _show_table(checks, limit)
        return
    from server.cli.output import say

    for each in checks:
        about = f"{each.vault}: {each.name}" if each.vault else each.name
        todo = f"; {each.todo}" if each.todo else ""
        say(f"{each.status:7} {about}: {each.message}{todo}")
        for line in _details(each, limit):
            say(f"          {line}")


def _show_table(checks: Sequence[DoctorCheck], limit: int | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for head in ("", "VAULT", "CHECK", "FOUND", "WHAT HELPS"):
        table.add_column(head, overflow="fold")
    for each in checks:
        found = "\n".join([each.message, *_details(each, limit)])
        status = Text(each.status, style=COLORS[each.status])
        table.add_row(status, each.vault or "", each.name, Text(found), Text(each.todo))
    Console().print(table)


def _details(check: DoctorCheck, limit: int | None) -> list[str]:
    shown = check.details[:limit]
    left = len(check.details) - len(shown)
    return [*shown, *([f"… and {left:,} more: --verbose shows all"] if left else [])]
