"""The notes of a folder, in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from server.ui.vault_view import VaultView, complaint_of

PER_PAGE = 200
TOKENS = 60_000
SORTS = ("path", "modified", "title")


async def show(view: VaultView, path: str) -> Response:
    """The page. ``path``: of the folder, with a slash at its end; "" is the vault."""
    asked = view.request.query_params
    sort = asked.get("sort", "path")
    arguments: dict[str, Any] = {"limit": PER_PAGE, "max_tokens": TOKENS}
    arguments |= {"sort_by": sort} if sort in SORTS else {}
    arguments |= {"order": "desc"} if sort == "modified" else {}
    arguments |= {"folder": path.rstrip("/")} if path else {}
    arguments |= {"cursor": asked["cursor"]} if asked.get("cursor") else {}
    arguments |= {"title_contains": asked["title"].strip()} if asked.get("title", "").strip() else {}
    outcome = await view.ask("find_notes", **arguments)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="notes", status=complaint.status, complaint=complaint)
    return view.page(
        "notes",
        here="notes",
        found=outcome.content,
        folder=path,
        folders=folders_above(path.rstrip("/")),
        below=_folders_below(path, outcome.content["notes"]),
        sort=sort if sort in SORTS else "path",
        sorts=SORTS,
        title=asked.get("title", ""),
    )


def folders_above(path: str) -> list[tuple[str, str]]:
    """The folders a path lies in, outermost first: name and path with a slash at its end."""
    parts = path.split("/")[:-1]
    return [(name, "/".join(parts[: at + 1]) + "/") for at, name in enumerate(parts)]


def _folders_below(folder: str, notes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The folders in this one that notes of this page lie in."""
    inside = {each["path"].removeprefix(folder).partition("/") for each in notes if each["path"].startswith(folder)}
    return sorted({name for name, slash, _ in inside if slash})
