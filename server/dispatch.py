"""The one door to every vault: find → authorise → admit → lease → session → validate → run → shape → record.

HTTP, stdio and the command line all come through here; nothing reaches a vault otherwise. ``dispatch`` never raises
for a failed call: the failure is the outcome.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from uuid_utils import uuid7

from auth.roles import Role
from server import audited_calls, consent, errors
from server.activity_recorder import ActivityDraft, ActivityRecorder, resolve_session
from server.audience import audience_of, word_warnings
from server.audited_calls import AuditedCall
from server.call import AnswerForm, Call, Caller, CallRecord
from server.call_listeners import HeardCall
from server.caller_views import view_of
from server.local_attempt import is_watched, tell_began, tell_elsewhere
from server.rendering import answers as rendering
from server.tool_spec import Arguments, ResourceLink, ToolSpec
from vaults.advice import Audience
from vaults.context import CallContext, bind_call, run_in
from vaults.domain.text.validation_messages import simplify
from vaults.errors import (
    Forbidden,
    Internal,
    InvalidArgument,
    NotFound,
    ReadOnly,
    StrongroomError,
    Timeout,
)
from vaults.vault_hosting import VaultElsewhere

if TYPE_CHECKING:
    from server.services import Services
    from vaults.registry import VaultEntry
    from vaults.vault import Vault


MAX_RETRIES = 4
"""Retries of a page that is too long. One is mostly enough: only what a row takes besides its text varies."""


class UnknownTool(NotFound):
    """No such tool for this caller: a protocol error, not a tool result."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call, whether it succeeded or failed."""

    content: dict[str, Any]  # the structured result, or ``{"error": …}``
    text: str
    code: str | None = None  # of the error; None on success
    unknown_tool: bool = False
    question: str | None = None  # to ask the caller's person first: nothing was done
    links: Sequence[ResourceLink] = ()  # resources that show more of it, such as a picture

    def blocks(self, form: AnswerForm) -> list[dict[str, Any]]:
        """The content blocks of the MCP result."""
        text = [{"type": "text", "text": self.text}] if form != "structured" or not self.ok else []
        return [*text, *(link.as_block() for link in self.links)]

    def structured(self, form: AnswerForm) -> dict[str, Any] | None:
        """The structured content of the MCP result."""
        return self.content if form != "text" else None

    @property
    def ok(self) -> bool:
        return self.code is None


async def dispatch(services: Services, caller: Caller, name: str, arguments: Mapping[str, Any] | None) -> CallOutcome:
    """Serve one call, here or where the vault is."""
    here = partial(_dispatch_here, services, caller, name, arguments)
    if services.routes.call is None or is_watched():
        return await here()
    outcome: CallOutcome = await services.routes.call(caller, name, arguments or {}, here)
    return outcome


async def _dispatch_here(
    services: Services, caller: Caller, name: str, arguments: Mapping[str, Any] | None
) -> CallOutcome:
    record, reference = CallRecord(caller, name), str(uuid7())
    try:
        outcome = await _serve(services, caller, name, arguments or {}, reference)
    except StrongroomError as failure:
        if isinstance(failure, VaultElsewhere):
            tell_elsewhere()
        outcome = _to_outcome(failure, audience_of(services.registry, view_of(caller)))
    except asyncio.CancelledError:
        record.outcome = "cancelled"
        _record(services, record)
        raise
    except Exception as failure:  # noqa: BLE001  the edge: whatever went wrong, the caller gets a reference only
        record.reference, record.failure = reference, failure
        outcome = _to_outcome(Internal("something went wrong inside the server", reference=reference))
    record.outcome = outcome.code or "ok"
    _record(services, record)
    return outcome


async def _serve(
    services: Services, caller: Caller, name: str, arguments: Mapping[str, Any], reference: str
) -> CallOutcome:
    spec = _find(services, name)
    role = _role_of(services, caller)
    refusal = _refusal(caller, role, spec, arguments)
    with services.quotas.admit(caller.principal, caller.vault):
        if refusal is not None:
            await audited_calls.record_refused(services, caller, role, spec, arguments, refusal.code)
            raise refusal
        entry = services.registry_cache.entry(caller.vault)
        serving = _Serving(services, caller.with_role(role), spec, arguments, reference, entry)
        if not audited_calls.is_audited(services, spec, arguments):
            return await serving.run()
        serving.audited = AuditedCall(services, serving.caller, spec, arguments, entry)
        return await serving.audited.serve(serving.run)


@dataclass(slots=True)
class _Serving:
    """A call that was let in."""

    services: Services
    caller: Caller
    spec: ToolSpec
    arguments: Mapping[str, Any]
    reference: str
    entry: VaultEntry
    audited: AuditedCall | None = None

    async def run(self) -> CallOutcome:
        """Lease the vault and run the call in it, under a deadline."""
        services, limit = self.services, self.services.settings.server.call_timeout_s
        until = time.monotonic() + limit
        try:
            async with asyncio.timeout(limit), services.pool.lease(self.entry) as vault:
                tell_began()
                return await self._run_in(vault, until)
        except TimeoutError as failure:
            raise Timeout(f"{self.spec.name} took longer than {limit:g} s", hint="ask for less at once") from failure

    async def _run_in(self, vault: Vault, until: float) -> CallOutcome:
        services = self.services
        session = await resolve_session(vault, self.caller, self.arguments)
        changes = None
        if self.audited is not None:
            self.audited.session, changes = session.id, self.audited.changes
        call = Call(services, self.caller, vault, session)
        context = CallContext(self.caller.principal.key, self.entry.vault_id, until, session.id, changes=changes)
        recorder = ActivityRecorder(vault, session, self.spec, self.arguments, self.reference, looks=self.caller.looks)
        with bind_call(context), recorder.recording() as draft:
            if self.audited is not None:
                await self.audited.require_audit()
            outcome = await _run(call, self.spec, self.arguments, draft)
        vault.db.log.refuse_if_lost()  # it may come from a cache
        if services.call_listeners:
            writes = self.spec.action_of(self.arguments).writes
            heard = HeardCall(self.entry.vault_id, session.id, self.caller.client, self.spec.name, writes)
            services.call_listeners.tell(heard)
        return outcome


async def _run(call: Call, spec: ToolSpec, arguments: Mapping[str, Any], draft: ActivityDraft) -> CallOutcome:
    args = _require_consent(call, spec, arguments)
    result = await _result(call, spec, args)
    draft.activity_entry = spec.activity_entry(args, result)
    pool = call.vault.shared.pool
    match call.caller.form:
        case "whole":
            rendered = await run_in(pool, rendering.render_whole, spec, args, result)
        case "data":
            rendered = await run_in(pool, rendering.render_data, spec, result)
        case _:
            rendered = await rendering.render(pool, spec, args, result)
    if rendered.over and spec.pages and not spec.action_of(arguments).writes:
        rendered = await _run_tighter(call, spec, args, result, rendered)
    draft.characters = len(rendered.written)
    return CallOutcome(rendered.content, rendered.text, links=spec.links(args, result))


async def _result(call: Call, spec: ToolSpec, args: Arguments) -> Any:
    """The tool's result, with its warnings worded for this caller."""
    return word_warnings(await spec.run(call, args), audience_of(call.services.registry, view_of(call.caller)))


async def _run_tighter(
    call: Call, spec: ToolSpec, args: Arguments, result: Any, rendered: rendering.RenderedAnswer
) -> rendering.RenderedAnswer:
    """Ask a tool that pages again for less, at last for a single row: cutting its answer would lose the cursor."""
    room = inner = args.token_budget()
    for left in reversed(range(MAX_RETRIES)):
        share = room / (room + rendered.over) * rendering.SLACK if left else 0.0
        inner = max(1, int(inner * share))
        less = {"max_tokens": inner, **_smaller_limit(args, result, rendered.rows, share)}
        result = await _result(call, spec, args.model_copy(update=less))
        rendered = await rendering.render(call.vault.shared.pool, spec, args, result)
        if not rendered.over:
            break
    return rendered


def _smaller_limit(args: Arguments, result: Any, rows: int, share: float) -> dict[str, int]:
    """The limit for a page of a share of these rows: some tools obey nothing else. One that stayed below its limit and
    says there is more obeys the budget, and keeps its limit: what it counts may depend on that."""
    limit = getattr(args, "limit", None)
    if limit is None or (rows < limit and getattr(result, "truncated", False)):
        return {}
    return {"limit": max(1, min(limit, int(rows * share)))}


def _find(services: Services, name: str) -> ToolSpec:
    spec = services.registry.get(name)
    if spec is None:
        raise UnknownTool(f"Unknown tool: {name[:100]}")
    return spec


def _role_of(services: Services, caller: Caller) -> Role:
    """The check that counts, whatever the door checked. A vault without a grant raises as if it did not exist."""
    role = services.role_in(caller.principal, caller.vault)
    if role is None:
        raise NotFound("no such vault, or no grant for it")
    return role


def _refusal(caller: Caller, role: Role, spec: ToolSpec, arguments: Mapping[str, Any]) -> Forbidden | ReadOnly | None:
    """Why the caller may not do this; None where they may."""
    action = spec.action_of(arguments)
    if role < action.role:
        return Forbidden(f"{spec.name} needs the role {action.role.label} in this vault", role=role.label)
    if caller.write_mode == "off" and action.writes:
        return ReadOnly("writing is switched off for this connection")
    return None


def _require_consent(call: Call, spec: ToolSpec, arguments: Mapping[str, Any]) -> Arguments:
    """The validated arguments, if nobody has to agree to the call or somebody did. Raises ``ConfirmationRequired``;
    what would be refused anyway is refused before anybody is asked."""
    arguments = consent.replace_old_argument(spec, arguments)
    args = _validate(call.caller, spec, consent.strip_confirmation(spec, arguments))
    action = spec.action_of(arguments)
    if arguments.get("dry_run") is True and action.writes and not action.dry_run:
        raise InvalidArgument("dry_run", f"cannot be had of action {arguments['action']}: it is done at once, or not")
    entry = call.services.registry_cache.entry(call.caller.vault)
    if not consent.needs_confirmation(call.caller, entry.destructive, spec, arguments):
        return args
    consent.check_confirmation(call.caller, spec, arguments)
    return consent.add_confirmation(spec, args)


def _validate(caller: Caller, spec: ToolSpec, arguments: Mapping[str, Any]) -> Arguments:
    # Before pydantic, which makes an error of each unknown name: a few hundred thousand of them take a second.
    known = spec.arguments.model_fields
    unknown = next((name for name in arguments if name not in known), None)
    if unknown is not None:
        raise _invalid_argument(caller, spec, unknown, "extra_forbidden", "")
    try:
        return spec.arguments.model_validate(arguments)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _invalid_argument(caller, spec, where, first["type"], first["msg"]) from None


def _invalid_argument(caller: Caller, spec: ToolSpec, where: str, kind: str, message: str) -> InvalidArgument:
    """The refusal. It names no argument and no action that is hidden from the caller."""
    if kind == "extra_forbidden":
        shown = spec.input_schema_for(caller.role, caller.preset, caller.write_mode)["properties"]
        hint = f"{spec.name} takes: {', '.join(shown) or 'no arguments'}"
        return InvalidArgument(where[:200] or "arguments", "is not an argument of this tool", hint=hint)
    mine = spec.actions_for(caller.role, caller.write_mode)
    if kind == "literal_error" and where == "action" and mine:
        return InvalidArgument(where, f"should be {' or '.join(map(repr, mine))}")
    return InvalidArgument(where[:200] or "arguments", "is required" if kind == "missing" else simplify(message))


def _to_outcome(failure: StrongroomError, audience: Audience | None = None) -> CallOutcome:
    return CallOutcome(
        errors.to_content(failure, audience),
        errors.to_text(failure, audience),
        failure.code,
        unknown_tool=isinstance(failure, UnknownTool),
        question=failure.question if isinstance(failure, consent.PersonMustBeAsked) else None,
    )


def _record(services: Services, record: CallRecord) -> None:
    record.seconds = time.perf_counter() - record.started
    services.record(record)
