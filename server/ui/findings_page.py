"""What a look over the vault finds: every check, what is wrong first. For admins, when they ask: it reads much."""

from __future__ import annotations

from starlette.responses import Response

from ops.doctor.check import GRAVE
from server.ui.page import VaultPage
from server.ui.vault_view import VaultView, complaint_of


async def show(view: VaultView) -> Response:
    """The page."""
    outcome = await view.ask("doctor", action="diagnosis")
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="", status=complaint.status, complaint=complaint)
    checks = outcome.content["checks"]
    grave = [each for each in checks if each["status"] in GRAVE]
    notices = [each for each in checks if each["status"] == "notice"]
    fine = [each for each in checks if each["status"] == "ok"]
    return view.page("findings", here="", grave=grave, notices=notices, fine=fine)


PAGE = VaultPage("findings", show)
