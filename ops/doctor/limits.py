"""Checks of plans, licence and tokens: what an operator expects to hold, and does not, or soon will not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from auth.licence import LicenceVerdict
from auth.tokens import TokenRecord
from ops.doctor.check import DoctorCheck


def licence(verdict: LicenceVerdict) -> DoctorCheck:
    """Whether the licence holds, if there is one."""
    if verdict.state in ("valid", "absent"):
        return DoctorCheck("licence", "ok", verdict.message)
    return DoctorCheck("licence", "warning", verdict.message, "plans hold without it: replace it, or remove the file")


def plans(undefined: Sequence[str]) -> DoctorCheck:
    """Whether everybody's plan exists. ``undefined``: plans in use that no setting defines."""
    if not undefined:
        return DoctorCheck("plans", "ok", "every plan somebody is on is defined")
    return DoctorCheck(
        "plans",
        "warning",
        "some are on plans that do not exist, and so on the default one",
        "define them in the settings, or run: strongroom plan set",
        list(undefined),
    )


NOTICE = timedelta(days=14)
"""How long before a token in use ends the check warns."""


def tokens(ending: Sequence[TokenRecord]) -> DoctorCheck:
    """Whether agents will still get in. ``ending``: tokens in use that end within ``NOTICE``."""
    if not ending:
        return DoctorCheck("tokens", "ok", f"no token in use ends within {NOTICE.days} days")
    return DoctorCheck(
        "tokens",
        "warning",
        f"tokens that are in use end within {NOTICE.days} days: {len(ending)}",
        "make new ones and give them to whoever uses these: strongroom token create",
        [
            f"{each.subject}, {each.role.label} of {', '.join(each.vaults)}: {each.expires_at} ({each.id})"
            for each in ending
        ],
    )
