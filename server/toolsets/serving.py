"""A call of an old tool: its arguments checked, put into calls of ours, and the answer in the shape its users know.

Whoever serves gives ``call``, the way to dispatch: roles, consent, write mode, quotas and logs hold for each call of
ours, and the activity log records our tool. A call that is refused before it comes to that is admitted and recorded
here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from uuid_utils import uuid7

from server.call import Caller, CallRecord
from server.dispatch import CallOutcome
from server.services import Services
from server.tool_registry import ToolRegistry
from server.tool_spec import CONFIRMED
from server.toolsets.old_tool import NOT_VALID, OldAnswer, OldTool, OldToolRefusal, Toolset
from vaults.domain.text.sanitize import escape_hidden
from vaults.domain.text.validation_messages import simplify
from vaults.errors import StrongroomError

OurCall = Callable[[Caller, str, Mapping[str, Any]], Awaitable[CallOutcome]]


class _PersonIsAsked(Exception):
    """A call of ours waits for a person's answer; ``outcome`` holds the question."""

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(outcome.question)
        self.outcome = outcome


class _CallsOfOurs:
    """Calls made for one call of an old tool. ``confirmed``: its caller says that a person agreed."""

    def __init__(self, registry: ToolRegistry, caller: Caller, call: OurCall, confirmed: bool) -> None:  # noqa: FBT001
        self._registry = registry
        self._caller = replace(caller, form="whole")
        self._call = call
        self._confirmed = confirmed
        self.made = 0

    async def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        spec = self._registry.get(tool)
        if self._confirmed and spec is not None and spec.action_of(given).writes:
            given[CONFIRMED] = True
        self.made += 1
        outcome = await self._call(self._caller, tool, given)
        if outcome.question is not None:
            raise _PersonIsAsked(outcome)
        if not outcome.ok:
            error = outcome.content["error"]
            raise OldToolRefusal(error["message"], error["code"], error.get("details"))
        return outcome.content


async def serve_old_tool(
    services: Services, toolset: Toolset, tool: OldTool, caller: Caller, given: Mapping[str, Any], call: OurCall
) -> CallOutcome:
    """The outcome of one call. One above the caller's role answers as if the tool did not exist."""
    registry = services.registry
    ours = _CallsOfOurs(registry, caller, call, given.get(CONFIRMED) is True)
    try:
        if not tool.is_possible(registry, caller.role):
            raise OldToolRefusal(f"Unknown tool: {tool.name}", "forbidden")
        answer = await _run(tool, ours, given)
    except _PersonIsAsked as asked:
        return asked.outcome
    except Exception as failure:  # noqa: BLE001  the edge: whatever went wrong, the caller gets a reference only
        if not isinstance(failure, OldToolRefusal):
            return _record_failure(services, caller, toolset, tool, failure)
        refusal = failure
        if not ours.made:
            _record_refusal(services, caller, tool, refusal)
        answer = toolset.to_error(refusal)
        code = refusal.code if answer.is_error else None
        unknown = not tool.is_possible(registry, caller.role)
        return CallOutcome(answer.content, _text_of(toolset, answer), code, unknown_tool=unknown)
    return CallOutcome(answer.content, _text_of(toolset, answer))


async def _run(tool: OldTool, ours: _CallsOfOurs, given: Mapping[str, Any]) -> OldAnswer:
    try:
        arguments = tool.arguments.model_validate(dict(given))
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:200]
        reason = "is required" if first["type"] == "missing" else simplify(first["msg"])
        raise OldToolRefusal(f"Validation error: {where} {reason}", NOT_VALID) from None
    answer = await tool.run(
        ours, **{parameter: getattr(arguments, name) for parameter, name in tool.parameters.items()}
    )
    return answer if isinstance(answer, OldAnswer) else OldAnswer(answer)


def _text_of(toolset: Toolset, answer: OldAnswer) -> str:
    return toolset.to_text(answer.content) if answer.text is None else escape_hidden(answer.text)


def _record_failure(
    services: Services, caller: Caller, toolset: Toolset, tool: OldTool, failure: Exception
) -> CallOutcome:
    """A translation that broke, as dispatch records a tool that did."""
    reference = str(uuid7())
    services.record(CallRecord(caller, _our_name(tool), "internal", reference=reference, failure=failure))
    answer = toolset.to_error(OldToolRefusal(f"something went wrong inside the server ({reference})", "internal"))
    return CallOutcome(answer.content, _text_of(toolset, answer), "internal")


def _our_name(tool: OldTool) -> str:
    return next(iter(tool.calls.values())).partition(" ")[0]


def _record_refusal(services: Services, caller: Caller, tool: OldTool, refusal: OldToolRefusal) -> None:
    """Counted like a call: a caller who sends nothing but nonsense is to meet its rate limit, too."""
    record = CallRecord(caller, _our_name(tool), refusal.code)
    try:
        with services.quotas.admit(caller.principal, caller.vault):
            services.record(record)
    except StrongroomError as failure:
        refusal.message, refusal.code, refusal.details = failure.message, failure.code, failure.details
