"""What a vault's activity log records of a call, however it ended."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from server.call import Caller
from server.consent import PersonMustBeAsked
from server.query_context import estimate_tokens, format_query_context
from server.tool_spec import ToolSpec
from vaults import clock
from vaults.activity_log.entries import ActivityEntry, ActivityRecord
from vaults.activity_log.sessions import Session, SessionOwner
from vaults.context import current_call
from vaults.domain.actors import GLOBAL
from vaults.errors import NotFound, StrongroomError

if TYPE_CHECKING:
    from vaults.vault import Vault

_ENCODER = json.JSONEncoder(ensure_ascii=False)

_MAX_ARGUMENTS = 100
"""More than any tool takes: a call with more is refused, and its arguments are not worth measuring."""


@dataclass(slots=True)
class ActivityDraft:
    """What a call leaves to record if it succeeds; filled in while it runs."""

    activity_entry: ActivityEntry | None = None
    characters: int = 0  # of the structured answer


@dataclass(frozen=True, slots=True)
class ActivityRecorder:
    """Records one call in its open vault, under the session's owner."""

    vault: Vault
    session: Session
    spec: ToolSpec
    arguments: Mapping[str, Any]
    reference: str = ""  # ties a failure inside the server to its log line
    looks: bool = False  # as the caller says: that nothing is there is an answer then

    @contextmanager
    def recording(self) -> Iterator[ActivityDraft]:
        """Record the call when the block ends: what its log entry says, or how it failed."""
        started, draft, outcome = time.perf_counter(), ActivityDraft(), "internal"
        try:
            yield draft
            outcome = "ok"
        except PersonMustBeAsked:  # no failure: once they agree, another call follows
            outcome, draft.activity_entry = (
                "ok",
                ActivityEntry("tool_call", None, f"asked a person about {self.spec.name}"),
            )
            raise
        except StrongroomError as failure:
            outcome = failure.code
            if self.looks and outcome == NotFound.code:
                outcome = "ok"
                draft.activity_entry = ActivityEntry("tool_call", None, f"{self.spec.name}: nothing is there")
            raise
        except asyncio.CancelledError:
            outcome = "timeout" if time.monotonic() >= current_call().deadline else "cancelled"
            raise
        finally:
            self._record(draft, outcome, time.perf_counter() - started)

    def _record(self, draft: ActivityDraft, outcome: str, seconds: float) -> None:
        name = self.spec.name
        reference = self.reference if outcome == "internal" else None
        failed = ActivityEntry("tool_call", reference, f"[FAILED] {name}: {outcome}")
        entry = (draft.activity_entry or ActivityEntry("tool_call", None, name)) if outcome == "ok" else failed
        tokens_out = estimate_tokens(draft.characters)
        if outcome == "ok" and (whole := sum(current_call().whole_sizes.values())):
            entry = replace(entry, saved=estimate_tokens(whole) - tokens_out)
        record = ActivityRecord(
            at=clock.now(),
            session=self.session.id,
            owner=self.session.owner,
            tool=name,
            activity_entry=entry,
            outcome=outcome,
            ms=round(seconds * 1000, 2),
            tokens_in=_estimate_tokens(self.arguments),
            tokens_out=tokens_out,
            context=format_query_context(self.arguments),
        )
        self.vault.activity_log.record(record)


def _estimate_tokens(value: Mapping[str, Any]) -> int:
    """An estimate from the length: counting would cost more than many a call."""
    if len(value) > _MAX_ARGUMENTS:
        return 0
    try:
        return estimate_tokens(len(_ENCODER.encode(value)))
    except (ValueError, RecursionError):  # arguments that dispatch refuses for the same reason
        return 0


async def resolve_session(vault: Vault, caller: Caller, arguments: Mapping[str, Any]) -> Session:
    """The session a call belongs to: the one it names, else its connection's, else the caller's own. Raises
    ``NotFound`` for one that is not this caller's."""
    settings, actor = vault.shared.sessions, caller.actor
    owner = SessionOwner(
        identity=actor.identity,
        who=actor.name,
        client=caller.client,
        transport=caller.transport,
        workspace=actor.workspace or GLOBAL,
        connection=caller.connection,
        idle_s=settings.stale_s if caller.transport == "stdio" else settings.idle_s,
    )
    named = arguments.get("session")
    if isinstance(named, str) and named:
        return await vault.activity_log.find(owner, named[:200])
    if caller.session is not None:
        return await vault.activity_log.open_named(owner, caller.session)
    return await vault.activity_log.find_or_begin(owner)
