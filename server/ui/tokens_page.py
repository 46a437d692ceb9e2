"""Tokens issued here: which there are, a new one, and the end of one. No token is shown but once, as it is made."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from auth.keys import KEYS_FOLDER, open_key_ring
from auth.roles import parse_role
from auth.tokens import create_token, find_token, find_tokens, revoke_token
from server.administration.tokens import MAX_TOKEN_ID, read_request
from server.administration.vault_names import require_vaults
from server.setup.client_config import token_client_config
from server.tool_spec import PRESETS, TOOLSETS
from server.ui.admin_forms import ROLES, ask_first, has_agreed, is_looking, name_field, vault_choices, vaults_field
from server.ui.admin_view import AdminView
from server.ui.narrowing import ROWS, narrowing_of
from server.ui.page import AdminPage
from server.ui.vault_view import Complaint, refusal_of
from vaults.errors import StrongroomError


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: AdminView) -> Response:
    """Make a token, or end one."""
    if is_looking(view):
        return await _page(view)
    try:
        match view.text("do"):
            case "create":
                return await _create(view)
            case "revoke":
                return await _revoke(view, view.text("id")[:MAX_TOKEN_ID])
    except StrongroomError as failure:
        return await _page(view, refusal_of(failure))
    return view.go("tokens")


async def _create(view: AdminView) -> Response:
    services, settings = view.services, view.services.settings.auth
    subject, vaults, role = name_field(view, "subject"), vaults_field(view), parse_role(view.text("role"))
    ttl, tools = view.text("ttl").strip() or settings.token_ttl, view.text("tools") or None
    request = read_request(subject, vaults, role, ttl, tools)
    await services.control.read(lambda tx: require_vaults(tx, vaults))
    ring = await asyncio.to_thread(open_key_ring, services.data / KEYS_FOLDER, settings.key_passphrase_file)
    async with view.recorded("token", "create", subject=subject, vaults=list(vaults), role=role.label) as details:
        issued = await services.access_cache.write(lambda tx: create_token(tx, ring, services.instance_id, request))
        details |= {"token": issued.id, "expires_at": issued.expires_at}
    config = token_client_config(view.parts.url, issued, issued.token)
    return view.page("token", here="tokens", issued=issued, config=config)


async def _revoke(view: AdminView, token_id: str) -> Response:
    if not has_agreed(view):
        record = await view.services.control.read(lambda tx: find_token(tx, token_id))
        about = token_id if record is None else f"{record.subject} · {', '.join(record.vaults)} · {record.id}"
        return ask_first(view, "tokens", "revoke_token", about, "tokens", do="revoke", id=token_id)
    async with view.recorded("token", "revoke", token=token_id):
        await view.services.access_cache.write(lambda tx: revoke_token(tx, token_id))
    return view.go("tokens?done=revoke_token")


async def _page(view: AdminView, refused: Complaint | None = None) -> Response:
    asked, now = narrowing_of(view.request), view.parts.now()
    shown = "all" if view.request.query_params.get("show") == "all" else "alive"
    alive_at = None if shown == "all" else now
    tokens, total = await view.services.control.read(
        lambda tx: find_tokens(tx, asked.text, ROWS, asked.offset, alive_at=alive_at)
    )
    return view.page(
        "tokens",
        here="tokens",
        status=200 if refused is None else refused.status,
        refused=refused,
        asked=asked,
        shown=shown,
        tokens=[(each, each.is_good(now)) for each in tokens],
        total=total,
        vaults=vault_choices(view, vaults_field(view)),
        is_open=refused is not None or is_looking(view),
        roles=ROLES,
        presets=(*PRESETS, *TOOLSETS),
        typed={
            "subject": view.text("subject"),
            "vaults": vaults_field(view),
            "role": view.text("role") or "writer",
            "ttl": view.text("ttl") or view.services.settings.auth.token_ttl,
            "tools": view.text("tools"),
        },
    )


PAGE = AdminPage("tokens", show, change)
