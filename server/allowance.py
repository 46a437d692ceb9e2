"""Plans applied to a caller in a vault: what it may still store, and what it may know of its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auth.daily_usage import CounterShare, DailyUsage, StoreReservation
from auth.plans import EffectivePlan, LimitName, LimitScope, PlanBound
from auth.principal import Principal
from server.call import Call
from server.services import Services
from vaults.db.sql import Reader
from vaults.domain.memories import stored_totals
from vaults.domain.memories.stored_totals import StoredTotals
from vaults.vault import Vault

ALL_LIMITS: tuple[LimitName, ...] = ("stores_per_day", "memories", "size", "calls_per_minute")


@dataclass(frozen=True, slots=True)
class Allowance:
    """A bound and what is left of it; ``size`` is in bytes, ``resets_at`` RFC 3339. Of a vault, a caller is shown what
    it knows of: private memories of others take room too, and are not counted here."""

    what: LimitName
    scope: LimitScope
    limit: int
    used: int
    left: int
    resets_at: str | None = None


@dataclass(frozen=True, slots=True)
class Allowances:
    """The plans that hold for a call, their bounds, and in one line what became of the licence, if there is one."""

    plan: str
    vault_plan: str
    bounds: list[Allowance]
    licence: str | None = None


@dataclass(frozen=True, slots=True)
class _CountedStores:
    """Stores counted for a day."""

    usage: DailyUsage
    reservation: StoreReservation

    @property
    def stores(self) -> int:
        return self.reservation.stores

    def give_back(self, stores: int) -> None:
        self.usage.give_back(self.reservation, stores)


@dataclass(frozen=True, slots=True)
class StoreQuota:
    """The ``Quota`` of a caller who stores in a vault: bounded by its own plan and the vault's."""

    services: Services
    principal: Principal
    vault: Vault
    identity: str  # of the caller, in storage

    async def take(self, stores: int) -> _CountedStores:
        """Count stores for the day. Raises ``QuotaExceeded``."""
        usage = self.services.daily_usage
        return _CountedStores(usage, await usage.take(self._shares(), stores))

    def room(self, tx: Reader, more: int) -> int:
        """How many of ``more`` further memories fit. Raises ``QuotaExceeded``."""
        for plan in self._plans():
            memories, size = plan.bound("memories"), plan.bound("size")
            if memories is None and size is None:
                continue
            stored = (
                stored_totals.count_vault(tx)
                if plan.scope == "vault"
                else stored_totals.count_stored_by(tx, self.identity)
            )
            if size is not None:
                size.fitting(stored.size, 0)
            if memories is not None:
                more = memories.fitting(stored.memories, more)
        return more

    async def check_size(self) -> None:
        """For writes that store no memory but enlarge the vault. Raises ``QuotaExceeded`` when its size is used up."""
        size = self.services.plans.of_vault(self.vault.name).bound("size")
        if size is not None:
            size.fitting(await self.vault.db.read(lambda tx: tx.size()), 0)

    async def allowances(self) -> Allowances:
        """Every bound that holds, with what is left of it."""
        plans = self._plans()
        bounds = [bound for plan in plans for what in ALL_LIMITS if (bound := plan.bound(what)) is not None]
        today = await self.services.daily_usage.used(
            [self._visible_counter(bound) for bound in bounds if bound.what == ALL_LIMITS[0]]
        )
        stored = await self.vault.db.read(self._holdings) if bounds else {}
        verdict = self.services.licence.verdict
        return Allowances(
            plan=plans[1].plan,
            vault_plan=plans[0].plan,
            bounds=[self._allowance(bound, stored, today) for bound in bounds],
            licence=None if verdict.state == "absent" else verdict.message,
        )

    def _plans(self) -> tuple[EffectivePlan, EffectivePlan]:
        plans = self.services.plans
        return plans.of_vault(self.vault.name), plans.of_caller(self.principal)

    def _shares(self) -> list[CounterShare]:
        shares = []
        for plan in self._plans():
            bound = plan.bound("stores_per_day")
            if bound is not None:
                shares.append(CounterShare(self._counter(plan.scope), bound))
            if bound is not None and plan.scope == "vault":
                shares.append(CounterShare(self._own_counter, None))
        return shares

    def _counter(self, scope: LimitScope) -> str:
        return f"stores:vault:{self.vault.entry.vault_id}" if scope == "vault" else f"stores:{self.principal.key}"

    @property
    def _own_counter(self) -> str:
        """The caller's share of what the vault took today."""
        return f"stores:{self.principal.key}@{self.vault.entry.vault_id}"

    def _visible_counter(self, bound: PlanBound) -> str:
        """The counter a caller may see: the total of a vault would give away what others store privately. The owner
        of the machine reads everything anyway."""
        whole = bound.scope == "principal" or self.principal.is_owner
        return self._counter(bound.scope) if whole else self._own_counter

    def _holdings(self, tx: Reader) -> dict[LimitScope, StoredTotals]:
        vault = (
            stored_totals.count_vault(tx) if self.principal.is_owner else stored_totals.count_visible(tx, self.identity)
        )
        return {"vault": vault, "principal": stored_totals.count_stored_by(tx, self.identity)}

    def _allowance(
        self, bound: PlanBound, stored: Mapping[LimitScope, StoredTotals], today: Mapping[str, int]
    ) -> Allowance:
        resets_at = None
        if bound.what == "stores_per_day":
            used, resets_at = today[self._visible_counter(bound)], self.services.daily_usage.resets_at
        elif bound.what == "calls_per_minute":
            used = self.services.quotas.calls_in_window(bound, self.principal, self.vault.name)
        else:
            used = stored[bound.scope].memories if bound.what == "memories" else stored[bound.scope].size
        return Allowance(
            what=bound.what,
            scope=bound.scope,
            limit=bound.limit,
            used=used,
            left=max(0, bound.limit - used),
            resets_at=resets_at,
        )


def store_quota(call: Call) -> StoreQuota:
    """The store quota of the caller."""
    return StoreQuota(call.services, call.caller.principal, call.vault, call.actor.identity)
