"""The installation at a glance, for who administers it."""

from __future__ import annotations

from starlette.responses import Response

from server.ui.admin_view import AdminView
from server.ui.page import AdminPage
from server.version import version


async def show(view: AdminView) -> Response:
    """The page."""
    vaults = sorted(view.services.registry_cache.names())
    return view.page("overview", here="overview", version=version(), vaults=vaults)


PAGE = AdminPage("", show)
