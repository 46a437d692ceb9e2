"""Checks of plans and licence: what an operator meant to hold, and does not."""

from __future__ import annotations

from collections.abc import Sequence

from auth.licence import Verdict
from ops.doctor.check import Check


def licence(verdict: Verdict) -> Check:
    """Whether the licence holds, if there is one."""
    if verdict.state in ("valid", "absent"):
        return Check("licence", "ok", verdict.message)
    return Check("licence", "warning", verdict.message, "plans hold without it: replace it, or remove the file")


def plans(undefined: Sequence[str]) -> Check:
    """Whether everybody's plan is one. ``undefined``: those that no setting defines."""
    if not undefined:
        return Check("plans", "ok", "every plan somebody is on is defined")
    return Check(
        "plans",
        "warning",
        "some are on plans that do not exist, and so on the default one",
        "define them in the settings, or run: strongroom plan set",
        list(undefined),
    )
