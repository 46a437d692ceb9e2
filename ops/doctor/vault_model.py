"""Whether the model that was named for a vault can serve it, and how far a change to another one is."""

from __future__ import annotations

from ops.doctor.check import DoctorCheck
from vaults.domain.maintenance.model_change import find_problem
from vaults.domain.maintenance.vault_status import ModelChange, describe_models
from vaults.embed.served_models import AT_ENDPOINT
from vaults.index import model_choice
from vaults.vault import Vault

NAME = "own_model"


async def own_model(vault: Vault) -> DoctorCheck:
    """Loads none; whether an endpoint answers is asked once, for the whole installation."""
    choice = await vault.db.read(model_choice.read_choice)
    shown, settings = await describe_models(vault), vault.shared.embedding
    change = _describe(shown.change) if shown.change else ""
    back = f"bring it back, or name one that is here: strongroom vault update {vault.name} --model default"
    todo = "a running server goes on with it" if change else ""
    away, absent = [await find_problem(vault, name) if name else None for name in (choice.serving, choice.wanted)]
    if away is not None:
        message = f"its model cannot serve; search is by keyword: {away}{change}"
        return DoctorCheck(NAME, "warning", message, back if absent else todo)
    if absent is not None:
        message = f"the model it is to change to cannot serve; the one before answers: {absent}"
        return DoctorCheck(NAME, "warning", message, back)
    message = (f"embedded with {shown.own}" if shown.own else "embedded with the server's model") + change
    if any(name and name.startswith(AT_ENDPOINT) for name in (choice.serving, choice.wanted)):
        message += f"; what is stored and searched for goes to {settings.endpoint_place}"
        if not settings.is_endpoint_private:
            return DoctorCheck(NAME, "notice", f"{message}, unencrypted", "use https: it can be read on the way")
    return DoctorCheck(NAME, "notice" if change else "ok", message, todo)


def _describe(change: ModelChange) -> str:
    reason = f" ({change.reason})" if change.reason else ""
    return f", changing to {change.to}: {change.done:,} of {change.total:,} passages{reason}"
