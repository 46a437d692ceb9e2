"""The addresses by which a handoff reaches a caller: its names and its roles. Pure."""

from __future__ import annotations

from auth.principal import Principal, is_name
from auth.roles import Role, role_of_label

ROLE_PREFIX = "role:"
"""``role:writer``: whoever may write, and so admins too."""


def addresses_of(principal: Principal, role: Role) -> tuple[str, ...]:
    """The names and roles a caller answers to in a vault where it has ``role``. A name that looks like a role is left
    out, or an account called ``role:admin`` would be taken for admins; its pinned form ``sub:role:admin`` remains."""
    names = {principal.subject} if principal.is_owner else principal.names
    roles = [f"{ROLE_PREFIX}{each.label}" for each in Role if each <= role]
    return (*sorted(name for name in names if not name.startswith(ROLE_PREFIX)), *roles)


def is_handoff_address(text: str) -> bool:
    """Whether a handoff can be addressed to this: a subject, e-mail or group, or a role that exists."""
    if text.startswith(ROLE_PREFIX):
        return role_of_label(text.removeprefix(ROLE_PREFIX)) is not None
    return is_name(text)
