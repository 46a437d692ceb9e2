"""What commands share: the settings of this run, the stores they open, and how they end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from server.background_plan import BackgroundPlan
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.db.transactions import Transactions
    from vaults.registry import VaultEntry
    from vaults.vault import Vault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """The global options as given."""

    data: Path | None = None
    config: Path | None = None
    log_level: str | None = None
    log_format: str | None = None


def load_settings(ctx: typer.Context, data: Path | None = None, **flags: Any) -> LoadedSettings:
    """The effective settings. ``data`` wins over the option; ``flags`` are given as ``server__port=8701``. Says which
    limits of storage are none, and so do not hold. Raises ``InvalidArgument`` naming the key."""
    from server.cli.output import say_on_stderr
    from server.settings import export_environment, load

    export_environment()
    given: GlobalOptions = ctx.find_root().obj or GlobalOptions()
    dotted = {name.replace("__", ".", 1): value for name, value in flags.items()}
    dotted |= {"ops.log_level": given.log_level, "ops.log_format": given.log_format}
    loaded = load(data or given.data, given.config, dotted)
    for line in loaded.warnings:
        say_on_stderr(f"strongroom: {line}")
    return loaded


def import_structlog() -> None:
    """Import the library of the logs before all that uses it. It takes rich along, where that is installed, for
    tracebacks in colour, which no log of ours prints: 4 MB of an idle server, and a twentieth of a start."""
    if "rich" in sys.modules or "structlog" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment]  # "not installed", as the import system puts it
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules["rich"]


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine. What it imports takes the library of the logs along."""
    import_structlog()
    return asyncio.run(work)


@asynccontextmanager
async def open_control(loaded: LoadedSettings) -> AsyncIterator[Transactions]:
    """Open control.db alone, for commands that touch no vault. Raises ``ReadOnly`` where it cannot be made. Of several
    servers: their control, with keys and licence in the data folder by then."""
    if loaded.settings.cluster.is_on:
        from server.cluster.installation import open_installation

        async with open_installation(loaded.settings.cluster, loaded.data) as installation:
            yield installation.control
        return
    from server.control_database import migrate_control
    from vaults.db.connection import Database
    from vaults.errors import ReadOnly
    from vaults.files.permissions import deny_reason

    loaded.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    reason = deny_reason(loaded.data, os.W_OK)
    if reason is not None and not (loaded.data / "control.db").exists():  # one that is there can still be read
        raise ReadOnly(f"{loaded.data} holds nothing yet and cannot be written: {reason}")
    control = Database(loaded.data / "control.db", loaded.settings.storage)
    try:
        await migrate_control(control, loaded.settings.storage)
        yield control
    finally:
        await control.close()


@asynccontextmanager
async def open_all(
    loaded: LoadedSettings, modules: Sequence[str] = (), background: BackgroundPlan | None = None
) -> AsyncIterator[Services]:
    """Open everything a tool call needs. Only failures inside are logged, unless a level was asked for. ``modules``:
    load only their tools. ``background``: the background work; by default little, since the process soon ends."""
    from ops.logs import configure
    from server.background_plan import COMMAND_WORK
    from server.services import Recorders, open_services
    from server.settings import configured_endpoints
    from server.tools import discover_kept, registry_of

    ops = loaded.settings.ops
    if "ops.log_level" not in loaded.sources:
        ops = ops.model_copy(update={"log_level": "warning"})
    calls = configure(ops)
    endpoints = configured_endpoints(loaded.settings)
    registry = registry_of(modules, endpoints) if modules else discover_kept(loaded.data, endpoints=endpoints)
    async with open_services(
        loaded.settings, loaded.data, registry, recorders=Recorders(calls=calls), background=background or COMMAND_WORK
    ) as services:
        yield replace(services, home=Path.home())


@asynccontextmanager
async def open_vault(loaded: LoadedSettings, name: str) -> AsyncIterator[Vault]:
    """Open one vault, as its owner. Raises ``NotFound``."""
    async with open_all(loaded) as services, services.pool.lease(require_vault(services, name)) as vault:
        yield vault


@asynccontextmanager
async def change_vault(
    loaded: LoadedSettings, name: str, tool: str, action: str | None = None, **details: Any
) -> AsyncIterator[Vault]:
    """``open_vault`` for a command whose work there stands in the audit, with ``details``. Raises
    ``AuditUnavailable``."""
    from server.cli.admin_acts import recorded_in

    async with (
        open_all(loaded) as services,
        services.pool.lease(require_vault(services, name)) as vault,
        recorded_in(services, name, tool, action, **details),
    ):
        yield vault


def require_vault(services: Services, name: str) -> VaultEntry:
    """The entry of an active vault. Raises ``NotFound``, worded for the operator."""
    from vaults.errors import NotFound

    if name in services.registry_cache.archived:
        raise NotFound(f"vault {name} is archived", hint=f"vault unarchive {name} puts it back into service")
    if not services.registry_cache.known(name):
        raise NotFound(f"no vault {name}", hint="vault list shows what there is")
    return services.registry_cache.entry(name)
