"""The request for a pack."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.activity_log.sessions import Session
from vaults.domain.continuity.handoffs import HandoffRecipient
from vaults.domain.packs.pack import PackFormat
from vaults.search.filters import SearchFilter

DEFAULT_TOKENS = 2500
"""Tokens of a pack, unless the request says otherwise."""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """A request for a pack."""

    query: str  # blank: the brief at the start of a session
    only: SearchFilter
    recipient: HandoffRecipient  # the caller, as the recipient of handoffs
    session: Session  # the one the caller is in
    total: int = DEFAULT_TOKENS  # tokens
    form: PackFormat = "json"
    anchor_commit: str | None = None
    include_orphans: bool = False
