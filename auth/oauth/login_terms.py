"""What somebody lets a client do."""

from __future__ import annotations

from dataclasses import dataclass

from auth.roles import Role


@dataclass(frozen=True, slots=True)
class LoginTerms:
    """One vault, one role there at most, for so many days. ``resource``: RFC 8707, as it was asked for."""

    client: str
    person: str
    vault: str
    role: Role
    days: int
    resource: str | None
