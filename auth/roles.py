"""Roles and the OAuth scopes that stand for them. Pure data."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from vaults.errors import InvalidArgument


class Role(IntEnum):
    """What a grant allows; each role includes those below it, so ``min`` attenuates and ``max`` adds up."""

    READER = 1
    WRITER = 2
    ADMIN = 3

    @property
    def label(self) -> str:
        """``reader``, ``writer`` or ``admin``: as stored, printed and written in tokens."""
        return _LABELS[self]

    @property
    def scope(self) -> str:
        """The scope an outside token needs for this role."""
        return _SCOPES[self]

    @property
    def scopes(self) -> str:
        """Every scope an operation of this role needs, space-separated, for one challenge."""
        return _CHALLENGES[self]


_LABELS = {role: role.name.lower() for role in Role}
_SCOPES = {Role.READER: "vault:read", Role.WRITER: "vault:write", Role.ADMIN: "vault:admin"}
_CHALLENGES = {role: " ".join(_SCOPES[each] for each in Role if each <= role) for role in Role}
_BY_LABEL = {label: role for role, label in _LABELS.items()}
_BY_SCOPE = {scope: role for role, scope in _SCOPES.items()}


def parse_role(label: str) -> Role:
    """The role of this name. Raises ``InvalidArgument`` for any other text."""
    role = _BY_LABEL.get(label)
    if role is None:
        raise InvalidArgument("role", "must be reader, writer or admin")
    return role


def role_of_label(label: object) -> Role | None:
    """The role of this name, or None for anything else: for values from outside."""
    return _BY_LABEL.get(label) if isinstance(label, str) else None


def role_of_scopes(scopes: Iterable[str]) -> Role | None:
    """The highest role the scopes stand for; foreign scopes count for nothing."""
    return max((_BY_SCOPE[scope] for scope in scopes if scope in _BY_SCOPE), default=None)
