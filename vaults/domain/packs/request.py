"""What a pack is asked for with."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.activity_log.sessions import Session
from vaults.domain.continuity.handoffs import HandoffRecipient
from vaults.domain.packs.pack import PackFormat
from vaults.search.filters import SearchFilter

DEFAULT_TOKENS = 2500
"""Tokens of a pack, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """A blank ``query`` asks for the brief at the start of a session. ``taker``: who the caller is
    to those who left handoffs; ``session``: the one it is in."""

    query: str
    only: SearchFilter
    taker: HandoffRecipient
    session: Session
    total: int = DEFAULT_TOKENS
    form: PackFormat = "json"
    anchor_commit: str | None = None
    include_orphans: bool = False
