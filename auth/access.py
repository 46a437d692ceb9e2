"""One immutable snapshot of all grants and live tokens, asked on every request: dictionary look-ups only."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from auth.plan_holders import NO_HOLDERS, PlanHolders, load_holders
from auth.principal import Principal
from auth.roles import Role, role_of_label
from vaults.db.sql import Reader

EVERY_VAULT = "*"


@dataclass(frozen=True, slots=True)
class AccessSnapshot:
    """``grants``: issuer → subject → vault → role. ``live_tokens``: ids issued here and not revoked → the vaults they
    open now, None for every one. ``holders``: who is on which plan.

    Grants add up: the highest one that names the caller or one of its groups counts, and ``*`` covers every vault.
    """

    grants: Mapping[str, Mapping[str, Mapping[str, Role]]]
    live_tokens: Mapping[str, frozenset[str] | None]
    holders: PlanHolders = NO_HOLDERS

    def role_in(self, principal: Principal, vault: str) -> Role | None:
        """What the caller may do there now, or None. Says nothing about whether the vault exists."""
        role = self.granted(principal, vault)
        if role is None or principal.lacks_scope:
            return None
        cap = principal.scope_role
        return role if cap is None or role <= cap else cap

    def granted(self, principal: Principal, vault: str) -> Role | None:
        """``role_in`` before scopes are applied: tells a missing scope from a missing grant."""
        if principal.is_owner:
            return Role.ADMIN
        if principal.token_id is not None and principal.token_id not in self.live_tokens:
            return None
        vaults = self._token_vaults(principal)
        if vaults is not None and vault not in vaults:
            return None
        role = self._highest(principal, vault)
        if role is None:
            return None
        return role if role <= principal.token_role else principal.token_role

    def _token_vaults(self, principal: Principal) -> frozenset[str] | None:
        # Of our own tokens the table counts, not what was signed: a vault may have another name since, and its old name
        # may be another vault's.
        if principal.token_id is None:
            return principal.token_vaults
        return self.live_tokens.get(principal.token_id, frozenset())

    def vaults_of(self, principal: Principal, known: Collection[str]) -> Mapping[str, Role]:
        """Those of the ``known`` vaults the caller may enter, with its role, ordered by name."""
        roles = ((vault, self.role_in(principal, vault)) for vault in sorted(self._candidates(principal, known)))
        return {vault: role for vault, role in roles if role is not None}

    def _candidates(self, principal: Principal, known: Collection[str]) -> Collection[str]:
        # Only what the token or the grants name: one vault among a thousand must not cost a thousand look-ups.
        if principal.is_owner:
            return known
        named = self._token_vaults(principal)
        if named is None:
            subjects = self.grants.get(principal.issuer, {})
            named = frozenset(vault for name in principal.names for vault in subjects.get(name, ()))
        return known if EVERY_VAULT in named else [vault for vault in named if vault in known]

    def _highest(self, principal: Principal, vault: str) -> Role | None:
        subjects = self.grants.get(principal.issuer)
        if not subjects:
            return None
        best: Role | None = None
        for name in principal.names:
            granted = subjects.get(name)
            if granted is None:
                continue
            for role in (granted.get(vault), granted.get(EVERY_VAULT)):
                if role is not None and (best is None or role > best):
                    best = role
        return best


NO_ACCESS = AccessSnapshot(MappingProxyType({}), MappingProxyType({}))
"""Nobody may do anything: the state before control.db is first read."""


def load_access(reader: Reader, now: datetime | None = None) -> AccessSnapshot:
    """Read everything in one transaction. A role this version does not know grants nothing."""
    grants: dict[str, dict[str, dict[str, Role]]] = {}
    for subject, issuer, vault, label in reader.all("SELECT subject, issuer, vault, role FROM grants"):
        role = role_of_label(label)
        if role is not None:
            grants.setdefault(issuer, {}).setdefault(subject, {})[vault] = role
    # Expiry is the token's own claim; a day of slack only keeps long-dead rows out of memory.
    bygone = ((now or datetime.now(UTC)) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    live = reader.all(
        "SELECT id, vaults FROM tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :bygone)",
        {"bygone": bygone},
    )
    # Thousands of tokens share a few lists.
    lists = {text: _vaults_of(text) for text in {text for _, text in live}}
    return AccessSnapshot(grants, {token_id: lists[text] for token_id, text in live}, load_holders(reader))


def _vaults_of(text: str) -> frozenset[str] | None:
    vaults = frozenset(json.loads(text))
    return None if EVERY_VAULT in vaults else vaults
