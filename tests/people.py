"""Several callers of one vault, each with a grant of its own, and time passing for their rows."""

from __future__ import annotations

from typing import Any

from auth.grants import set_grant
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, asker, local


async def give_role(services: Services, subject: str, role: Role = Role.WRITER, *, vault: str = "main") -> None:
    """Let ``subject`` into a vault."""
    await services.access_cache.write(lambda tx: set_grant(tx, subject, "local", vault, role))


async def person(
    services: Services, subject: str, role: Role = Role.WRITER, *, vault: str = "main", **more: Any
) -> Asking:
    """Calls tools as ``subject``, who has ``role`` in ``vault``. ``more`` of ``Caller``: session, client, workspace."""
    await give_role(services, subject, role, vault=vault)
    return asker(services, Caller(local(subject), vault, Role.ADMIN, "http", **more))


async def rewrite(services: Services, sql: str, *params: object, vault: str = "main") -> None:
    """Change rows as time, or another process, would."""
    async with services.pool.lease(services.registry_cache.entry(vault)) as held:
        await held.activity_log.flush()
        await held.db.write(lambda tx: tx.run(sql, params))


async def rows(services: Services, sql: str, *params: object, vault: str = "main") -> list[tuple[Any, ...]]:
    """What stands in a vault's tables, with what waited to be written."""
    async with services.pool.lease(services.registry_cache.entry(vault)) as held:
        await held.activity_log.flush()
        return await held.db.read(lambda tx: tx.all(sql, params))
