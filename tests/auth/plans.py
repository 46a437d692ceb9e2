"""Builders for tests of plans and licences."""

from typing import Any

from auth.licence import Licence
from auth.plan_holders import NO_HOLDERS, PlanHolders
from auth.plans import Plans
from auth.settings import LimitSettings, PlanSettings


def plans_of(
    limits: LimitSettings | None = None,
    holders: PlanHolders = NO_HOLDERS,
    licence: Licence | None = None,
    **plans: dict[str, Any],
) -> Plans:
    """``plans_of(team={"memories": 5})``."""
    defined = {name: PlanSettings(**numbers) for name, numbers in plans.items()}
    return Plans(limits or LimitSettings(), defined, lambda: holders, lambda: licence)


def lifting(kind: str = "plan", **plans: dict[str, int | None]) -> Licence:
    """A licence that holds."""
    return Licence("l1", "acme", kind, plans, None, 2.0**40)  # type: ignore[arg-type]
