"""What a pack is asked for with."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.activity_log.sessions import Session
from vaults.domain.continuity.handoffs import Taker
from vaults.domain.packs.pack import Form
from vaults.search.filters import Filter

TOTAL = 2500
"""Tokens of a pack, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A blank ``query`` asks for the brief at the start of a session. ``taker``: who the caller is
    to those who left handoffs; ``session``: the one it is in."""

    query: str
    only: Filter
    taker: Taker
    session: Session
    total: int = TOTAL
    form: Form = "json"
    anchor_commit: str | None = None
    include_orphans: bool = False
