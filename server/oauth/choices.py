"""What somebody may let a program do, as a page offers it and as its form brings it back."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData

from auth.oauth import consents
from auth.oauth.login_terms import LoginTerms
from auth.roles import Role, role_of_label
from server.oauth.parts import SignInParts

DAYS = (1, 7, 30, 90)
"""For how long somebody may let a client in."""

USUAL_DAYS = 30

MOST_VAULTS = 50
"""Vaults offered to choose from: whoever has more types the name of one."""


async def offer(parts: SignInParts, person: str, client: str, named: str | None) -> dict[str, Any]:
    """What ``choices.html`` shows: the vaults somebody has, or the ``named`` one alone, with the last answer filled in.
    Raises ``VaultUnavailable``."""
    offered = {vault: role for vault, role in parts.roles_of(person).items() if named in (None, vault)}
    known = await parts.control.read(lambda tx: consents.last_consents(tx, person, client))
    before = next((each for each in known if each.vault in offered), None)
    most = max(offered.values(), default=Role.READER)
    return {
        "named": named,
        "vaults": list(offered),
        "most_vaults": MOST_VAULTS,
        "vault": before.vault if before else next(iter(offered), None),
        "roles": [role.label for role in Role if role <= most],
        "role": (min(before.role, most) if before else min(Role.WRITER, most)).label,
        "days_offered": DAYS,
        "days": before.days if before else USUAL_DAYS,
        "given_at": before.given_at[:10] if before else None,
    }


def read_terms(
    parts: SignInParts, person: str, client: str, form: FormData, *, named: str | None, resource: str | None
) -> LoginTerms | None:
    """What a form allows, never more than the person has; None where it is not theirs to give. Their grants are asked
    again at every call. Raises ``VaultUnavailable``."""
    roles, given, role = parts.roles_of(person), form.get("vault"), role_of_label(form.get("role"))
    vault = given.strip() if isinstance(given, str) else None
    days = next((each for each in DAYS if str(each) == form.get("days")), None)
    if vault is None or vault not in roles or named not in (None, vault) or role is None or days is None:
        return None
    return LoginTerms(client, person, vault, min(role, roles[vault]), days, resource)
