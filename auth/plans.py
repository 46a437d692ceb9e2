"""Plans: how much a vault or a caller may do and hold.

A plan bounds whoever is on it, vault or caller; a call has to fit both. Whoever is on no plan is on ``limits.plan``,
whose numbers are replaced by those of ``limits.*`` where set. A licence only ever lifts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

from auth.licence import Licence
from auth.plan_holders import PlanHolders
from auth.principal import Principal
from auth.settings import LimitSettings, PlanSettings
from vaults.advice import Advice, tool_clause
from vaults.durations import parse_size
from vaults.errors import QuotaExceeded, RateLimited

LimitName: TypeAlias = Literal["stores_per_day", "memories", "size", "calls_per_minute"]
LimitScope: TypeAlias = Literal["vault", "principal"]

ASK_OPERATOR = "the operator can allow more"
_ARCHIVE = tool_clause("archive some with memory_forget", "memory_forget")
VAULT_FULL = Advice(
    tool_clause("archive or purge some with memory_forget", "memory_forget.purge", instead=_ARCHIVE), ASK_OPERATOR
)


@dataclass(frozen=True, slots=True)
class Limits:
    """The numbers of a plan; None: no bound. ``size`` in bytes."""

    stores_per_day: int | None = None
    memories: int | None = None
    size: int | None = None
    calls_per_minute: int | None = None


LIMIT_NAMES = tuple(each.name for each in fields(Limits))
NO_LIMITS = Limits()
BUILT_IN: Mapping[str, Limits] = {"unlimited": NO_LIMITS, "free": Limits(stores_per_day=20, memories=200)}


@dataclass(frozen=True, slots=True)
class PlanBound:
    """One number of a plan, and whom it bounds."""

    what: LimitName
    scope: LimitScope
    plan: str
    limit: int

    def exceeded(self, resets_at: str | None = None) -> QuotaExceeded:
        """The error for a refused caller. It reveals no more than the refusal itself: how far a vault is above its
        bound would give away what others keep privately. ``resets_at``: when the count starts again, RFC 3339."""
        whose = "this vault's" if self.scope == "vault" else "your"
        unit, hint = {
            "stores_per_day": ("stores a day", f"the count starts again at {resets_at}; reading goes on"),
            "memories": ("memories", VAULT_FULL),
            "size": (
                "bytes",
                Advice(tool_clause("purge some with memory_forget", "memory_forget.purge"), ASK_OPERATOR),
            ),
        }[self.what]
        more = {} if resets_at is None else {"resets_at": resets_at}
        return QuotaExceeded(
            f"the {self.limit} {unit} of {whose} plan {self.plan} are used up",
            hint=hint,
            what=self.what,
            scope=self.scope,
            limit=self.limit,
            used=self.limit,
            left=0,
            **more,
        )

    def rate_exceeded(self, wait_s: float) -> RateLimited:
        """The same for calls that come too quickly."""
        return RateLimited(
            f"more than {self.limit} calls in a minute",
            retry_after_s=round(wait_s, 1),
            what=self.what,
            scope=self.scope,
            limit=self.limit,
        )

    def fitting(self, used: int, more: int) -> int:
        """How many of ``more`` additional ones fit. Raises ``QuotaExceeded`` if none does or, with ``more`` 0, if more
        are used than allowed."""
        left = self.limit - used
        if left < min(more, 1):
            raise self.exceeded()
        return min(left, more)


@dataclass(frozen=True, slots=True)
class EffectivePlan:
    """The plan a vault or a caller is on, lifted by the licence. The names of several are joined by ``+``."""

    plan: str
    scope: LimitScope
    limits: Limits

    def bound(self, what: LimitName) -> PlanBound | None:
        """The bound of one of its limits, if it has one."""
        limit = getattr(self.limits, what)
        return None if limit is None else PlanBound(what, self.scope, self.plan, limit)


class Plans:
    """Who is on which plan. ``holders`` and ``licence`` are called on each look-up: both may change while we serve."""

    def __init__(
        self,
        limits: LimitSettings,
        plans: Mapping[str, PlanSettings],
        holders: Callable[[], PlanHolders],
        licence: Callable[[], Licence | None],
    ) -> None:
        self.defined = defined_plans(plans)
        self._holders = holders
        self._licence = licence
        self._default = limits.plan
        plain = self.defined[limits.plan]
        size = None if limits.vault_size is None else parse_size(limits.vault_size)
        self._vaults = replace(plain, **_settings_limits(memories=limits.memories, size=size))
        self._callers = replace(plain, **_settings_limits(stores_per_day=limits.stores_per_day))

    def of_vault(self, vault: str) -> EffectivePlan:
        """The plan of a vault."""
        named = self._holders().vaults.get(vault)
        return self._effective("vault", [] if named is None else [named], self._vaults)

    def of_caller(self, principal: Principal) -> EffectivePlan:
        """The plan of a caller. Of several that name it (itself, its e-mail, its groups) each highest number counts."""
        return self._effective("principal", self._holders().plans_of(principal), self._callers)

    def undefined(self) -> list[str]:
        """Plans in use that no setting defines (any more): they count as the default plan."""
        return sorted(self._holders().plans() - self.defined.keys())

    def _effective(self, scope: LimitScope, named: Iterable[str], default: Limits) -> EffectivePlan:
        plans = {name: self.defined[name] for name in named if name in self.defined} or {self._default: default}
        licence = self._licence()
        if licence is not None:
            plans = {name: _lift(limits, name, licence) for name, limits in plans.items()}
        if len(plans) == 1:
            name, limits = next(iter(plans.items()))
            return EffectivePlan(name, scope, limits)
        return EffectivePlan("+".join(sorted(plans)), scope, max_limits(plans.values()))


def defined_plans(plans: Mapping[str, PlanSettings]) -> dict[str, Limits]:
    """Every plan by name: the built-in ones, and those of the settings, which may redefine them."""
    return {**BUILT_IN, **{name: _limits(plan) for name, plan in plans.items()}}


def max_limits(several: Iterable[Limits]) -> Limits:
    """The highest of each number."""
    found = list(several)
    return Limits(**{name: _max_number(getattr(each, name) for each in found) for name in LIMIT_NAMES})


def _max_number(numbers: Iterable[int | None]) -> int | None:
    highest = 0
    for number in numbers:
        if number is None:
            return None
        highest = max(highest, number)
    return highest


def _lift(limits: Limits, plan: str, licence: Licence) -> Limits:
    if licence.kind == "admin":
        return NO_LIMITS
    lifts = licence.lifts.get(plan, {})
    return replace(limits, **{name: _max_number((getattr(limits, name), to)) for name, to in lifts.items()})


def _limits(plan: PlanSettings) -> Limits:
    size = None if plan.size is None else parse_size(plan.size)
    return Limits(plan.stores_per_day, plan.memories, size, plan.calls_per_minute)


def _settings_limits(**numbers: int | None) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number is not None}
