"""May this caller do this here? Pure: the gate and dispatch ask the same question and get the same answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from auth.access import AccessSnapshot
from auth.principal import Principal
from auth.roles import Role


@dataclass(frozen=True, slots=True)
class Allowed:
    """``role`` is what the caller has there, at least what was required."""

    role: Role


@dataclass(frozen=True, slots=True)
class Denied:
    """``no_grant`` must look like a vault that does not exist, ``role`` like a tool that does not exist. Only
    ``scope`` may be named: the grant would allow the call, with a token that has ``scopes``."""

    reason: Literal["no_grant", "role", "scope"]
    scopes: str = ""


Decision: TypeAlias = Allowed | Denied


def decide(access: AccessSnapshot, principal: Principal, vault: str, required: Role) -> Decision:
    """Deny by default. A token without any of our scopes is denied before anything depends on the vault."""
    if principal.lacks_scope:
        return Denied("scope", Role.READER.scopes)
    granted = access.granted(principal, vault)
    if granted is None:
        return Denied("no_grant")
    if granted < required:
        return Denied("role")
    cap = principal.scope_role
    if cap is not None and cap < required:
        return Denied("scope", required.scopes)
    return Allowed(granted if cap is None or granted <= cap else cap)
