"""Where calls go that are not made in the vault's own process: to the server that has the vault.

Whoever serves several servers' requests sets the routes once it can reach the others; on one machine they stay unset,
and every call is made here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from server.call import Caller

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope


class CallRoute(Protocol):
    """A tool call, made where the vault is. ``here`` makes it in this process. Both give its outcome."""

    async def __call__(
        self, caller: Caller, tool: str, arguments: Mapping[str, Any], here: Callable[[], Awaitable[Any]]
    ) -> Any: ...


class SearchRoute(Protocol):
    """A search of one vault for a caller who may read it: a ``SearchAnswer`` of the server that has the vault; None: it
    is here. Raises what the search raises there."""

    async def __call__(self, caller: Caller, vault: str, request: Any) -> Any | None: ...


class StreamRoute(Protocol):
    """What serves an open page's stream by passing its request on to the server that has the vault; None: it is
    here."""

    async def __call__(self, vault: str, scope: Scope) -> ASGIApp | None: ...


@dataclass(frozen=True, slots=True)
class ElsewhereVault:
    """A vault that another server has. ``size``: bytes of its database; ``reason``: why it is not served, if it is
    not."""

    size: int
    reason: str = ""


class VaultsRoute(Protocol):
    """The vaults that other servers have, by id, as far as these answer."""

    async def __call__(self) -> Mapping[str, ElsewhereVault]: ...


@dataclass(slots=True)
class CallRoutes:
    """None: everything is here."""

    call: CallRoute | None = None
    search: SearchRoute | None = None
    stream: StreamRoute | None = None
    vaults: VaultsRoute | None = None
