"""A tool asked on the way to something else: a resource, a prompt. Through the same door as any call, so roles, quota,
deadline and log are those of any call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from server.call import Caller
from server.dispatch import CallOutcome, dispatch
from server.services import Services


class InternalCallRefused(Exception):
    """The door said no; ``outcome`` is what it said. An answer, not an error of ours."""

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


async def call_internally(services: Services, caller: Caller, tool: str, arguments: Mapping[str, Any]) -> CallOutcome:
    """What a tool answers. Raises ``InternalCallRefused``."""
    outcome = await dispatch(services, replace(caller, form="whole"), tool, arguments)
    if not outcome.ok:
        raise InternalCallRefused(outcome)
    return outcome
