"""A page of a vault, as the application serves it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.responses import Response

from server.ui.vault_view import VaultView

PageAnswer = Callable[[VaultView], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class VaultPage:
    """``path``: below the address of the vault. ``change``: does what its forms ask for; None: it has none."""

    path: str
    show: PageAnswer
    change: PageAnswer | None = None
