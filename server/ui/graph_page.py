"""How the notes hang together: a picture of all of them or of those around one, and the same as a table.

With a script, the picture of a whole vault is one to move about in, which takes every note from an address of its own.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from server.oauth.pages import HEADERS
from server.ui.page import VaultPage
from server.ui.vault_view import Complaint, VaultView, complaint_of
from vaults.markdown.link_resolution import SUFFIXES

ROWS = 100
TOKENS = 60_000
DEPTHS = (1, 2)
COLOURINGS = ("folder", "type", "age", "hub")
PACKING = 4
"""Of gzip: more costs more time than the network saves."""

PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""Of the picture, which holds its colours: opened by itself it runs nothing and loads nothing."""

DATA_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """What the address asks for: notes around one, in a folder, on the way from one to another, or all."""

    note: str = ""
    to: str = ""
    folder: str = ""
    depth: int = 1

    @classmethod
    def of(cls, given: QueryParams) -> GraphQuestion:
        """What an address asks; a depth that is no choice of the form counts as left out."""
        depth = given.get("depth", "")
        texts = {name: given.get(name, "").strip() for name in ("note", "to", "folder")}
        return cls(**texts, depth=int(depth) if depth in map(str, DEPTHS) else 1)

    @property
    def picture(self) -> Mapping[str, Any]:
        """The arguments for the picture."""
        around = {**self._which, "depth": self.depth} if self.note else {}
        inside = {"folder": self.folder} if self.folder and not self.note else {}
        return {"action": "export", "format": "svg", "max_tokens": TOKENS, **around, **inside}

    @property
    def table(self) -> Mapping[str, Any]:
        """The arguments for the table."""
        if self.note and self.to:
            return {"action": "path", **self._which, "to": self.to, "direction": "both", "max_tokens": TOKENS}
        if self.note:
            around = {**self._which, "depth": self.depth, "limit": ROWS}
            return {"action": "neighbors", "max_tokens": TOKENS, **around}
        inside = {"folder": self.folder} if self.folder else {}
        return {"action": "analyse", "analysis": "centrality", "limit": ROWS, "max_tokens": TOKENS, **inside}

    @property
    def _which(self) -> Mapping[str, str]:
        """The note by its path, or by a name of it."""
        return {"path" if self.note.lower().endswith(SUFFIXES) else "entity": self.note}

    @property
    def is_of_all(self) -> bool:
        """Whether the picture of the whole vault answers it, alone or with a way in it."""
        return not self.folder and bool(self.note) == bool(self.to)

    @property
    def address(self) -> str:
        """The question as it stands in the address of its picture."""
        given = {"note": self.note, "folder": self.folder, "depth": self.depth if self.depth > 1 else ""}
        return urlencode({name: value for name, value in given.items() if value})


async def show(view: VaultView) -> Response:
    """The page."""
    asked = GraphQuestion.of(view.request.query_params)
    outcome = await view.ask("graph", **asked.table)
    complaint = complaint_of(outcome)
    found: Mapping[str, Any] = outcome.content if complaint is None else {"nodes": [], "total": 0}
    return view.page(
        "graph",
        here="graph",
        status=200 if complaint is None else complaint.status,
        asked=asked,
        depths=DEPTHS,
        found=found,
        complaint=complaint,
        has_picture=complaint is None and not asked.to,
        has_map=complaint is None and asked.is_of_all,
        way=[each["path"] for each in found.get("nodes", ()) if asked.to and found["total"]],
        colourings=COLOURINGS,
    )


async def draw(view: VaultView) -> Response:
    """The picture."""
    outcome = await view.ask("graph", **GraphQuestion.of(view.request.query_params).picture)
    complaint = complaint_of(outcome)
    if complaint is None and outcome.content.get("export") is None:
        complaint = Complaint("not_found", "there is no picture", status=404)
    if complaint is not None:
        return view.page("refused", here="graph", status=complaint.status, complaint=complaint)
    headers = {**HEADERS, "content-security-policy": PICTURE_POLICY}
    return Response(outcome.content["export"], media_type="image/svg+xml", headers=headers)


async def lay_out(view: VaultView) -> Response:
    """The place of every note, which the script asks for."""
    outcome = await view.ask("graph", action="export", format="layout", max_tokens=TOKENS)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="graph", status=complaint.status, complaint=complaint)
    data = outcome.content["export"].encode()
    headers = {**HEADERS, "content-security-policy": DATA_POLICY}
    if "gzip" in view.request.headers.get("accept-encoding", ""):
        data = await asyncio.to_thread(gzip.compress, data, PACKING)
        headers["content-encoding"] = "gzip"
    return Response(data, media_type="application/json", headers=headers)


PAGE = VaultPage("graph", show)
PICTURE = VaultPage("graph.svg", draw)
LAYOUT = VaultPage("graph.json", lay_out)
