"""How a client is connected to a vault, and whether one of the person's has called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from auth.roles import Role
from server.oauth.resources import address_of_vault
from server.setup.client_config import AGENT_RULES, READER_RULES
from server.setup.connection_guides import TOKEN_FILE, list_guides
from server.ui.page import VaultPage
from server.ui.vault_view import CLIENT, Complaint, VaultView, complaint_of

SESSIONS = 50
TOKENS = 40_000

STOP_ASKING = 286
"""The status at which htmx stops asking again."""


@dataclass(frozen=True, slots=True)
class CallsSeen:
    """Sessions of clients other than the console, the newest first of each client: of the person, and of others."""

    yours: Sequence[Mapping[str, Any]] = ()
    others: Sequence[Mapping[str, Any]] = ()
    complaint: Complaint | None = None


async def show(view: VaultView) -> Response:
    """The page."""
    seen = await _find_calls(view)
    signs_in, endpoint = view.parts.signs_in, address_of_vault(view.vault, view.parts.url)
    local = None if signs_in else ["--data", str(view.parts.services.data), "--vault", view.vault]
    return view.page(
        "connect",
        here="connect",
        endpoint=endpoint,
        guides=list_guides(endpoint, local),
        rules=AGENT_RULES if view.writes else READER_RULES,
        signs_in=signs_in,
        login=f"strongroom login {endpoint} --token-file {TOKEN_FILE}",
        token=f"strongroom token create --subject agent-1 --vault {view.vault} --role {_role_of(view)} --ttl 30d",
        makes_tokens=view.parts.administers(view.guest.principal),
        seen=seen,
    )


async def tell(view: VaultView) -> Response:
    """What an open page fetches when it hears of a change: it asks for nothing while nothing happens, or it would keep
    the vault open."""
    seen = await _find_calls(view)
    status = STOP_ASKING if seen.yours else 200
    return view.pages.render("connect_calls", status=status, home=view.home, seen=seen)


async def _find_calls(view: VaultView) -> CallsSeen:
    """Looks among the sessions that began last and, in a vault with many, among those under way."""
    outcome = await view.ask("session_history", limit=SESSIONS, max_tokens=TOKENS)
    sessions = list(outcome.content["sessions"]) if outcome.ok else []
    if outcome.ok and outcome.content["total"] > len(sessions) and not any(map(_is_agent_of_yours, sessions)):
        under_way = await view.ask("session_history", limit=SESSIONS, max_tokens=TOKENS, status="active")
        sessions += under_way.content["sessions"] if under_way.ok else []
    sessions.sort(key=lambda each: str(each["seen_at"]), reverse=True)
    return CallsSeen(
        yours=_by_client(each for each in sessions if _is_agent_of_yours(each)),
        others=_by_client(each for each in sessions if not each.get("yours") and each.get("client") != CLIENT),
        complaint=complaint_of(outcome),
    )


def _is_agent_of_yours(session: Mapping[str, Any]) -> bool:
    return bool(session.get("yours")) and session.get("client") != CLIENT


def _by_client(sessions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first session of each client of each caller, five at most."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for each in sessions:
        found.setdefault((each["who"], each.get("client", "")), each)
    return list(found.values())[:5]


def _role_of(view: VaultView) -> str:
    return "writer" if view.role >= Role.WRITER else "reader"


PAGE = VaultPage("connect", show)
CALLS = VaultPage("connect/calls", tell, is_use=False)
