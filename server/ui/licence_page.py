"""Whether the licence holds, what it lifts, and how one is signed for this installation."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from starlette.responses import Response

from server.ui.admin_view import AdminView
from server.ui.page import AdminPage


async def show(view: AdminView) -> Response:
    """The page."""
    services = view.services
    verdict = services.licence.verdict
    licence = verdict.licence
    return view.page(
        "licence",
        here="settings",
        verdict=verdict,
        licence=licence,
        until=None if licence is None else _to_rfc3339(licence.expires_at),
        machine=services.instance_id,
        command=shlex.join(
            ["strongroom", "licence", "sign", "NAME", "--key", "licence-private.pem", "--machine", services.instance_id]
        ),
    )


def _to_rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


PAGE = AdminPage("licence", show)
