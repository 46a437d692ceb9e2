"""The vaults of the installation, and making one."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from ops.audit.entries import MAX_NAME
from server import vault_admin
from server.ui.admin_view import AdminView
from server.ui.page import AdminPage
from server.ui.vault_lines import read_lines
from server.ui.vault_view import Complaint, refusal_of
from vaults.errors import StrongroomError

ROWS = 500
"""Vaults shown at once: whoever has more looks for some by their names."""


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: AdminView) -> Response:
    """Make a vault, and lead to what connects an agent to it."""
    name = view.text("name").strip()[:MAX_NAME]
    try:
        async with view.recorded("vault", "create", vault=name):
            await vault_admin.create(view.services, name)
    except StrongroomError as failure:
        return await _page(view, refusal_of(failure))
    return RedirectResponse(f"{view.parts.base}/ui/v/{name}/connect?done=create_vault", 303)


async def _page(view: AdminView, refused: Complaint | None = None) -> Response:
    text = view.request.query_params.get("text", "").strip()[:MAX_NAME]
    lines = await read_lines(view.services)
    found = [each for each in lines if text.lower() in each.entry.name]
    return view.page(
        "vaults_admin",
        here="vaults",
        status=200 if refused is None else refused.status,
        refused=refused,
        typed=view.text("name"),
        text=text,
        lines=found[:ROWS],
        total=len(found),
        default_plan=view.services.settings.limits.plan,
    )


PAGE = AdminPage("vaults", show, change)
