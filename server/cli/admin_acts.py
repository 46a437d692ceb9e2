"""Acts of whoever runs a command, in the audit: who granted, issued, made or took away what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from ops.audit.audit_log import AuditLog
    from ops.audit.entries import AuditEntry
    from server.cluster.audit_chains import ClusterChains
    from server.services import Services
    from server.settings import LoadedSettings


@asynccontextmanager
async def recorded(
    loaded: LoadedSettings, tool: str, action: str, *, vault: str | None = None, **details: Any
) -> AsyncIterator[dict[str, Any]]:
    """Record what the block does, however it ends; it may add to the details, which hold names and numbers, never
    secrets or texts. Raises ``AuditUnavailable`` before the block runs where nothing can be recorded."""
    from ops.audit.entries import AuditEntry

    async with open_audit(loaded) as audit:
        act = AuditEntry("act", tool, "ok", actor=operator(), action=action, vault=vault, details=details)
        async with audit.acting(act):
            yield details


@asynccontextmanager
async def recorded_in(
    services: Services, vault: str, tool: str, action: str | None = None, **details: Any
) -> AsyncIterator[None]:
    """Record what the block does to one vault, in that vault's chain, with what it changed. For commands that do much
    at once and go round dispatch: one entry when they end, however they end."""
    import math
    from dataclasses import replace

    from auth.principal import owner
    from ops.audit.entries import AuditEntry
    from vaults.change_notes import ChangeNotes
    from vaults.context import CallContext, bind_call
    from vaults.errors import StrongroomError

    chain, changes = services.registry_cache.entry(vault).vault_id, ChangeNotes()

    def entry(outcome: str) -> AuditEntry:
        act = AuditEntry("act", tool, outcome, actor=operator(), action=action, vault=vault, details=details)
        digest = changes.digest if changes.count > len(changes.first) else None
        return replace(act, changes=changes.first, changed=changes.count, changes_digest=digest)

    await services.audit.require_writable(chain)
    try:
        with bind_call(CallContext(owner("cli").key, chain, math.inf, changes=changes)):
            yield
    except StrongroomError as failure:
        await services.audit.try_append(chain, entry(failure.code))
        raise
    except BaseException:
        await services.audit.try_append(chain, entry("failed"))
        raise
    await services.audit.append(chain, entry("ok"))


@asynccontextmanager
async def open_audit(loaded: LoadedSettings) -> AsyncIterator[AuditLog]:
    """The audit of an installation, for commands that open nothing else."""
    from contextlib import AsyncExitStack

    from ops.audit.audit_log import AuditLog

    settings = loaded.settings
    async with AsyncExitStack() as stack:
        stores = await open_shared_chains(stack, loaded)
        passphrase = settings.auth.key_passphrase_file
        audit = AuditLog(loaded.data, settings.audit, settings.storage, key_passphrase_file=passphrase, stores=stores)
        stack.push_async_callback(audit.close)
        yield audit


async def open_shared_chains(stack: AsyncExitStack, loaded: LoadedSettings) -> ClusterChains | None:
    """The chains that servers share; None on one machine, where they are files. Raises ``InvalidArgument``."""
    if not loaded.settings.cluster.is_on:
        return None
    from server.cluster.audit_chains import open_chains
    from server.cluster.installation import open_installation

    shared = await stack.enter_async_context(open_installation(loaded.settings.cluster, loaded.data))
    return open_chains(stack, shared.connections)


def act_of(tool: str, action: str, vault: str | None, **details: Any) -> AuditEntry:
    """An act of whoever runs this command, for ``AuditLog.acting`` of services that are open."""
    from ops.audit.entries import AuditEntry

    return AuditEntry("act", tool, "ok", actor=operator(), action=action, vault=vault, details=details)


def operator() -> Any:
    """Whoever runs this command, as the audit names them."""
    from ops.audit.entries import AuditActor
    from server.audited_calls import os_user

    return AuditActor(subject=f"cli:{os_user()}", issuer="cli", user=os_user(), transport="cli")
