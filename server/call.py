"""One tool call: who asks, the vault it reached, and what a tool may use."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from auth.handoff_addresses import addresses_of
from auth.principal import Principal
from auth.roles import Role
from vaults.activity_log.sessions import Session
from vaults.domain.actors import Actor, workspace_key

if TYPE_CHECKING:
    from server.services import Services
    from vaults.domain.continuity.handoffs import HandoffRecipient
    from vaults.vault import Vault

PersonState = Literal["away", "there", "agreed", "declined"]
"""The person behind a caller, as far as the request shows: cannot be asked, can be asked, agreed, did not agree."""

AnswerForm = Literal["both", "text", "structured", "whole", "data"]
"""The form an answer is sent in. ``whole``, for our own resources and prompts: uncut JSON, empty fields included.
``data``, for our own pages: that JSON alone."""

INSIDE: frozenset[AnswerForm] = frozenset({"whole", "data"})
"""Forms for readers inside this server."""

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Reports progress of long work: done, total, a message."""


async def no_progress(done: float, total: float | None, message: str | None) -> None:
    """For callers that did not ask for progress."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, for which vault, through which door. Made by a door from a verified principal."""

    principal: Principal
    vault: str
    role: Role  # the effective one in ``vault``; dispatch checks it again
    transport: Literal["http", "stdio", "cli"]
    preset: str = "agent"
    write_mode: Literal["auto", "ask", "off"] = "auto"
    workspace: str | None = None
    session: str | None = None  # the handle the connection names
    client: str | None = None
    address: str | None = None  # of the peer, or what a trusted proxy says of it
    connection: str = ""  # where connections last (stdio): tells those of one principal apart
    era: str = ""
    request_id: str = ""
    progress: Progress = no_progress
    person: PersonState = "away"
    form: AnswerForm = "both"
    looks: bool = False  # a person opens an address, which may name what is not there

    @property
    def actor(self) -> Actor:
        """The caller as storage needs it."""
        principal, workspace = self.principal, self.workspace
        return Actor(
            identity="owner" if principal.is_owner else f"{principal.issuer}|{principal.subject}",
            name=principal.subject,
            workspace=workspace_key(workspace) if workspace else None,
        )

    def with_role(self, role: Role) -> Caller:
        """The same caller with the role dispatch found."""
        return self if role == self.role else replace(self, role=role)


@dataclass(frozen=True, slots=True)
class Call:
    """What a tool gets besides its arguments."""

    services: Services
    caller: Caller
    vault: Vault
    session: Session  # the one this call belongs to

    @property
    def actor(self) -> Actor:
        """The caller as storage needs it."""
        return self.caller.actor

    @property
    def recipient(self) -> HandoffRecipient:
        """The caller as handoffs address it."""
        from vaults.domain.continuity.handoffs import HandoffRecipient

        actor = self.actor
        return HandoffRecipient(
            actor.identity, actor.name, addresses_of(self.caller.principal, self.role), actor.workspace
        )

    @property
    def role(self) -> Role:
        return self.caller.role


@dataclass(slots=True)
class CallRecord:
    """What metrics and log keep of a call. Never an argument, a title or a text."""

    caller: Caller
    tool: str
    outcome: str = "ok"
    seconds: float = 0.0
    reference: str | None = None
    failure: BaseException | None = None
    started: float = field(default_factory=time.perf_counter)
