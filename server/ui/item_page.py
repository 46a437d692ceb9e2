"""Anything a search found that has no page of its own, as text: a document, a part of code or of a conversation."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from server.ui.memory_page import is_memory_id
from server.ui.page import VaultPage
from server.ui.vault_view import Complaint, NoSuchVault, VaultView, complaint_of

LINES = 2000
BYTES = 400_000
TOKENS = 100_000


async def show(view: VaultView) -> Response:
    """The page. ``id`` names the item as a hit does, ``from`` its first line."""
    wanted = view.request.query_params.get("id", "")
    if not wanted:
        raise NoSuchVault("nothing is here")
    if is_memory_id(wanted):
        return RedirectResponse(f"{view.home}memories/{wanted}", 303)
    bounds = {"max_lines": LINES, "max_bytes": BYTES, "max_tokens": TOKENS}
    outcome = await view.ask("fetch", id=wanted, from_line=view.first_line, **bounds)
    complaint = complaint_of(outcome)
    if complaint is None and outcome.content.get("text") is None:
        complaint = Complaint("not_found", "there is no such item, or it is not shared with you", status=404)
    if complaint is not None:
        return view.page("refused", here="", status=complaint.status, complaint=complaint)
    return view.page("item", here="", item=outcome.content)


PAGE = VaultPage("items", show)
