"""What the audit records of a tool call, and that no change is made, or answered, without it."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from auth.principal import Principal
from auth.roles import Role
from ops.audit.entries import MAX_NAME, MAX_TARGETS, AuditActor, AuditEntry
from server import consent
from server.call import Caller
from server.local_attempt import is_watched
from server.tool_spec import UNNAMED, ToolSpec
from vaults.change_notes import ChangeNotes
from vaults.errors import StrongroomError
from vaults.vault_hosting import VaultElsewhere

if TYPE_CHECKING:
    from server.services import Services
    from vaults.registry import VaultEntry

NAMES_TARGET = ("id", "ids", "from_id", "to_id", "path", "paths", "to", "run")
"""Arguments that hold an id or a path. No other is recorded: it may hold what people wrote."""

ABOUT_OTHER_VAULTS = frozenset({"vaults"})
"""Tools whose arguments name other vaults, which an admin of this one need not know of. What they did stands in the
installation's chain."""

SHOWN = frozenset({"id", "path"})
"""Fields of an answer that hold one."""


class CallAnswer(Protocol):
    """What a call is answered with, as far as the audit looks."""

    @property
    def content(self) -> dict[str, Any]:
        """The structured result."""


A = TypeVar("A", bound=CallAnswer)


@dataclass(slots=True)
class AuditedCall:
    """One call that is recorded, while it runs."""

    services: Services
    caller: Caller
    spec: ToolSpec
    arguments: Mapping[str, Any]
    entry: VaultEntry
    session: str | None = None
    changes: ChangeNotes = field(default_factory=ChangeNotes)

    async def require_audit(self) -> None:
        """Call before the tool runs. Raises ``AuditUnavailable`` for a change that could not be recorded."""
        if self.changes_something:
            await self.services.audit.require_writable(self.entry.vault_id)

    async def serve(self, run: Callable[[], Awaitable[A]]) -> A:
        """The outcome of ``run``, which stands in the audit when this returns. Raises ``ChangeNotAudited``."""
        audit, chain = self.services.audit, self.entry.vault_id
        try:
            outcome = await run()
        except StrongroomError as failure:
            # A call that did not reach its vault is made, and recorded, where that is.
            if not (isinstance(failure, VaultElsewhere) and is_watched()):
                await self._record_failed(failure.code)
            raise
        except asyncio.CancelledError:
            audit.begin(self._record("cancelled"))
            raise
        except Exception:
            await self._record_failed("internal")
            raise
        shown = _ids_shown(outcome.content, self.entry.name) if audit.settings.shown_ids else ()
        entry = self.to_entry("ok", shown)
        await (audit.append(chain, entry) if self.changes_something else audit.try_append(chain, entry))
        return outcome

    async def _record_failed(self, outcome: str) -> None:
        if self.changes.under_way:  # it ran out of time while a write of it waited: nobody waits for that now
            self.services.audit.begin(self._record(outcome))
        else:
            await self._record(outcome)

    async def _record(self, outcome: str) -> None:
        """Record a call that failed or was given up, with what it changed all the same."""
        await self.changes.settle()
        audit = self.services.audit
        keep = audit.append_or_owe if self.changes.count else audit.try_append
        await keep(self.entry.vault_id, self.to_entry(outcome))

    @property
    def changes_something(self) -> bool:
        return self.spec.action_of(self.arguments).writes and not self.spec.is_dry_run(self.arguments)

    def to_entry(self, outcome: str, shown: tuple[str, ...] = ()) -> AuditEntry:
        """What the audit records of it."""
        arguments, changes = self.arguments, self.changes
        action = arguments.get("action") if UNNAMED not in self.spec.actions else None
        all_listed = changes.count == len(changes.first)
        return AuditEntry(
            kind="call",
            tool=self.spec.name,
            action=action if isinstance(action, str) and action in self.spec.actions else None,
            outcome=outcome,
            actor=actor_of(self.caller, self.session),
            vault=self.entry.name,
            consent=consent.describe_consent(self.caller, self.entry.destructive, self.spec, arguments),
            targets=() if self.spec.name in ABOUT_OTHER_VAULTS else _targets(arguments),
            shown=shown,
            changes=changes.first,
            changed=changes.count,
            changes_digest=None if all_listed else changes.digest,
        )


def is_audited(services: Services, spec: ToolSpec, arguments: Mapping[str, Any]) -> bool:
    """Whether a call is recorded: one that changes something, and where the operator wants it, any."""
    action = spec.action_of(arguments)
    return services.audit.settings.reads or (action.writes and not spec.is_dry_run(arguments))


async def record_refused(
    services: Services, caller: Caller, role: Role, spec: ToolSpec, arguments: Mapping[str, Any], code: str
) -> None:
    """Record that somebody with a grant tried what they may not."""
    entry = services.registry_cache.entry(caller.vault)
    call = AuditedCall(services, caller.with_role(role), spec, arguments, entry)
    await services.audit.try_append(entry.vault_id, call.to_entry(code))


def actor_of(caller: Caller, session: str | None = None) -> AuditActor:
    """A caller as the audit names it."""
    principal = caller.principal
    return AuditActor(
        subject=principal.subject,
        issuer=principal.issuer,
        key=principal.key,
        user=_user_of(principal),
        token_id=principal.token_id or principal.foreign_token_id,
        role=caller.role.label,
        session=session,
        client=caller.client,
        address=caller.address,
        transport=caller.transport,
    )


def _user_of(principal: Principal) -> str | None:
    """The user of the operating system behind a caller who shares this process; over HTTP nobody says who it is."""
    return os_user() if principal.issuer in ("cli", "stdio") else None


@cache
def os_user() -> str:
    """Who runs this process, by its user id: the environment says whatever somebody wrote there."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user id without a name, as in some containers
        return f"uid {os.getuid()}"


def _targets(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in NAMES_TARGET:
        value = arguments.get(name)
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, str) and each and len(found) < MAX_TARGETS:
                found[each[:MAX_NAME]] = None
    return tuple(found)


def _ids_shown(content: Mapping[str, Any], vault: str) -> tuple[str, ...]:
    """Ids and paths in an answer; not of what it tells from another vault."""
    found: dict[str, None] = {}
    waiting: list[Any] = [content]
    while waiting and len(found) < MAX_TARGETS:
        each = waiting.pop()
        if isinstance(each, Mapping) and each.get("vault", vault) == vault:
            for name, value in each.items():
                if name in SHOWN and isinstance(value, str):
                    found[value[:MAX_NAME]] = None
                elif isinstance(value, list | Mapping):
                    waiting.append(value)
        elif isinstance(each, list):
            waiting.extend(reversed(each))
    return tuple(found)
