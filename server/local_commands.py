"""Calls of whoever sits at this machine: by the command line, and by hooks of an agent's program. The same whether the
command makes them itself or a server that runs over the data folder does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from auth.principal import LOCAL, Principal, local_names, owner
from auth.roles import Role
from server.call import AnswerForm, Caller
from server.caller_views import strictest_mode
from server.dispatch import dispatch
from server.services import Services
from vaults.errors import StrongroomError

if TYPE_CHECKING:
    from server.hooks import CallTool, HookInput


def command_caller(services: Services, vault: str, subject: str | None, form: AnswerForm = "both") -> Caller:
    """Whoever runs a command: the owner, or a local subject with its grants."""
    principal = owner("cli") if subject is None else Principal(subject, LOCAL, local_names(subject))
    known = services.registry_cache.known(vault)
    vault_mode = services.registry_cache.entry(vault).write_mode if known else "auto"
    # Dispatch looks up the role again and refuses if there is none.
    role = services.role_in(principal, vault) or Role.READER
    mode = strictest_mode(services.settings.server.write_mode, vault_mode)
    return Caller(principal, vault, role, "cli", preset="full", write_mode=mode, form=form)


def hook_caller(services: Services, vault: str, said: HookInput, workspace: str) -> Caller:
    """The caller is an agent's program, not the person at the command line: where a person must be asked first,
    nothing is saved."""
    principal = owner("stdio")
    return Caller(
        principal,
        vault,
        services.role_in(principal, vault) or Role.READER,
        "stdio",
        preset="full",
        write_mode=strictest_mode(services.settings.server.write_mode, services.registry_cache.entry(vault).write_mode),
        workspace=workspace,
        session=said.session,
        client=said.client,
    )


def ask_as(services: Services, caller: Caller) -> CallTool:
    """Tool calls of a hook. Raises ``StrongroomError`` for what a tool refuses; repeats nothing of it."""

    async def ask(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        outcome = await dispatch(services, caller, tool, arguments)
        if not outcome.ok:
            raise StrongroomError(f"{tool} answered {outcome.code}")
        return outcome.content

    return ask
