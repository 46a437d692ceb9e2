"""Pushes files to a vault on another server, through its tool ``ingest``."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from server.remote_vault.line_push import CallTool
from vaults.domain.actors import GLOBAL
from vaults.domain.documents.file_intake import GivenFile, IntakeRefused
from vaults.domain.documents.intake import DocumentSource, StoredDocument


@dataclass(frozen=True, slots=True)
class FilePush:
    """Files and pages into a remote vault."""

    call: CallTool

    async def push(self, given: GivenFile) -> StoredDocument:
        """What became of a file. Raises ``IntakeRefused`` where the server cannot read it."""
        data = base64.b64encode(given.data).decode("ascii")
        return await self._ingest({"data": data, "mime": given.mime, **_about(given.source)})

    async def push_page(self, source: DocumentSource) -> StoredDocument:
        """What became of a page, which the server reads. Raises ``IntakeRefused``."""
        return await self._ingest({name: each for name, each in _about(source).items() if name != "name"})

    async def _ingest(self, arguments: dict[str, Any]) -> StoredDocument:
        answer = await self.call("ingest", {name: each for name, each in arguments.items() if each is not None})
        for refused in answer.get("rejected", ()):
            raise IntakeRefused(refused["problem"], refused["message"])
        (stored,) = answer["documents"]
        return StoredDocument(
            id=stored["id"],
            status=stored["status"],
            title=stored["title"],
            format=stored["format"],
            parts=stored.get("parts", 0),
            passages=stored.get("passages", 0),
            pending=answer.get("embedding") == "pending",
            warnings=tuple(stored.get("warnings", ())),
        )


def _about(source: DocumentSource) -> dict[str, Any]:
    return {
        "name": source.name,
        "uri": source.uri,
        "title": source.title,
        "thread": source.thread,
        "collection": source.collection,
        "workspace": None if source.workspace == GLOBAL else source.workspace,
        "visibility": source.visibility,
        "kind": source.kind,
    }
