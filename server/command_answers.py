"""What a command gets that asks a serving process: what it would have worked out itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from server.call import AnswerForm
from server.dispatch import dispatch
from server.hook_dialects import DIALECTS
from server.hooks import EVENTS, HookRun, parse_input
from server.local_commands import ask_as, command_caller, hook_caller
from server.local_socket import DECLINED
from server.services import Services
from vaults.errors import NotFound, StrongroomError

log = structlog.get_logger("server.commands")

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a command asks for."""

    vault: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        value = self.fields.get(name)
        return value if isinstance(value, str) else None


async def answer_command(services: Services, request: Mapping[str, Any]) -> Answer:
    """The answer to a tool call or a hook. A failure is a reason for the person at the command; what this process does
    not know is declined, since the command may be of a later version."""
    wish = _Wish(str(request.get("vault")), request)
    try:
        if wish.text("tool") is not None:
            return await _call(services, wish)
        is_known = wish.text("event") in EVENTS and wish.text("client") in DIALECTS
        return await _run_hook(services, wish) if is_known else DECLINED
    except StrongroomError as failure:
        return {"reason": failure.message.removeprefix("Validation error: ")}
    except TimeoutError:
        return {"reason": "gave up, it took too long"}
    except Exception as failure:
        log.exception("command_failed")
        return {"reason": f"failed ({type(failure).__name__})"}


async def _call(services: Services, wish: _Wish) -> Answer:
    form: AnswerForm = "whole" if wish.text("form") == "whole" else "both"
    caller = command_caller(services, wish.vault, wish.text("as"), form)
    outcome = await dispatch(services, caller, str(wish.text("tool")), wish.fields.get("arguments"))
    return DECLINED if outcome.unknown_tool else {"ok": outcome.ok, "content": outcome.content}


async def _run_hook(services: Services, wish: _Wish) -> Answer:
    name = wish.vault or _project_vault(services, Path(str(wish.text("project"))))
    if name is None:
        return DECLINED  # it has been moved, or has no vault yet
    if not services.registry_cache.known(name):
        raise NotFound("there is no vault here; strongroom init makes one")
    said = parse_input(str(wish.text("input")).encode("utf-8", "surrogatepass"), str(wish.text("client")))
    caller = hook_caller(services, name, said, str(wish.text("workspace")))
    async with asyncio.timeout(float(wish.fields["within"])):
        answer = await EVENTS[str(wish.text("event"))](HookRun(ask_as(services, caller), said, shared=False))
    return {"answer": answer}


def _project_vault(services: Services, folder: Path) -> str | None:
    """The vault of a project, whose data folder this one is then."""
    own = (entry for entry in services.registry_cache.entries() if entry.path is not None)
    found = next((entry for entry in own if entry.state == "active"), None)
    return found.name if found is not None and found.path == folder else None
