"""Tool calls for a resource or a prompt, through dispatch like any call: roles, quota, deadline and log apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.services import Services


class InternalCallRefused(Exception):
    """Dispatch refused; ``outcome`` says why. An answer for the caller, not a failure of the server."""

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


async def call_internally(services: Services, caller: Caller, tool: str, arguments: Mapping[str, Any]) -> CallOutcome:
    """The outcome of a tool call that succeeded. Raises ``InternalCallRefused``."""
    outcome = await dispatch(services, replace(caller, form="whole"), tool, arguments)
    if not outcome.ok:
        raise InternalCallRefused(outcome)
    return outcome
