"""A page, as the application serves it: of a vault, of a person in none, or of the administration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from starlette.responses import Response

from server.ui.admin_view import AdminView
from server.ui.person_view import PersonView
from server.ui.vault_view import VaultView

V = TypeVar("V")
"""The view a page is made from."""


@dataclass(frozen=True)  # no slots: up to Python 3.11.7 a generic class that has both cannot be made by its alias
class Page(Generic[V]):
    """``path``: below the address of the vault, of the console or of the administration. ``change``: does what its
    forms ask for; None: it has none. ``is_use``: False where an open page asks for it by itself, which keeps nobody
    signed in."""

    path: str
    show: Callable[[V], Awaitable[Response]]
    change: Callable[[V], Awaitable[Response]] | None = None
    is_use: bool = True


VaultPage: TypeAlias = Page[VaultView]
PersonPage: TypeAlias = Page[PersonView]
AdminPage: TypeAlias = Page[AdminView]
