"""A vault of another server, as a client of its tools: for import and export with ``--url``.

What no tool accepts stays behind: ``created_at`` becomes ``occurred_at`` where a line has none, a superseded memory
arrives archived, and links are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.remote_vault.endpoint import endpoint_of, token_in
from server.rendering.answers import CUT
from vaults.domain.import_export.exports import ExportFormat, open_stage
from vaults.domain.import_export.imports import ImportTally, RejectedLine, RejectionReport, open_import_file
from vaults.domain.import_export.jsonl import (
    ExportedMemory,
    LineReader,
    LineRejected,
    MemoryLine,
    RawLine,
    parse,
    with_external_id,
)
from vaults.domain.memories.memory_model import Memory
from vaults.domain.text.fields import hash_parts
from vaults.domain.text.titles import derive_title
from vaults.errors import StrongroomError, VaultUnavailable

if TYPE_CHECKING:
    from mcp import Client

CONCURRENT_CALLS = 16
"""Max concurrent calls."""

ATTEMPTS = 8
"""Tries of one call while the server says to retry later."""

LONGEST_WAIT_S = 30.0
_CONFIRMED = {"confirmed": True}
"""Whoever started the import is the person the vault may require to be asked."""

_LOCAL_FIELDS = {"created_at", "archived_at", "archived_reason", "supersedes", "links", "subjects"}


class RemoteRefused(StrongroomError):
    """The remote server answered with an error that a retry does not change."""

    code = "remote"


@asynccontextmanager
async def connect_to_vault(url: str, token_file: Path, vault: str) -> AsyncIterator[RemoteVault]:
    """A client of one vault. Raises ``InvalidArgument`` for URL or token file, ``VaultUnavailable`` when the server
    cannot be reached or refuses the token."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.exceptions import MCPError

    endpoint, token = endpoint_of(url, vault), token_in(token_file)
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(90.0), trust_env=False) as http,
            # List every tool: the client checks results against the schemas it was shown.
            Client(streamable_http_client(f"{endpoint}?tools=full", http_client=http)) as client,
        ):
            yield RemoteVault(client)
    except (httpx2.HTTPError, MCPError, OSError, ExceptionGroup) as failure:
        raise _real_cause(failure, (httpx2.HTTPError, MCPError, OSError), endpoint) from None


def _real_cause(failure: Exception, far: tuple[type[Exception], ...], endpoint: str) -> Exception:
    """The real cause: the client's task groups wrap whatever is raised inside them."""
    single: Exception = failure
    while isinstance(single, ExceptionGroup):
        single = single.exceptions[0]
    if isinstance(single, far):
        return VaultUnavailable(f"{endpoint} cannot be reached, or refuses the token")
    return single


class RemoteVault:
    """The remote vault, as import and export need it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def push(self, path: Path, progress: Callable[[ImportTally], None]) -> ImportTally:
        """``import_jsonl`` into the remote vault."""
        with open_import_file(path) as file, RejectionReport(path) as report:
            tally = ImportTally(size=path.stat().st_size)
            reader = LineReader(file)
            slots = asyncio.Semaphore(CONCURRENT_CALLS)
            while lines := reader.batch():
                async with asyncio.TaskGroup() as calls:  # one that fails for good ends the others
                    tasks = [calls.create_task(self._push_line(line, tally, slots)) for line in lines]
                rejections = [verdict for task in tasks if (verdict := task.result()) is not None]
                report.add(rejections, tally)
                tally.read = reader.position
                progress(tally)
        return tally

    async def _push_line(self, raw: RawLine, tally: ImportTally, slots: asyncio.Semaphore) -> RejectedLine | None:
        async with slots:
            try:
                line = parse(raw)
                stored = await self._call("remember", {**_arguments(line, raw.number), **_CONFIRMED})
                fresh = stored.get("duplicate_of") != stored["id"]
                if fresh and (line.archived_at or line.archived_reason):
                    gone = {"ids": [stored["id"]], "reason": line.archived_reason}
                    await self._call("memory_forget", {**gone, **_CONFIRMED})
            except (LineRejected, RemoteRefused) as verdict:
                return RejectedLine(raw.number, str(verdict), raw.raw)
            tally.stored += fresh
            tally.known += not fresh
            tally.merged += bool(stored.get("added", {}).keys() - {"external_id"})  # which we made of the line
            tally.owed += fresh and stored["embedding"] == "pending"
            return None

    async def pull(self, folder: Path, formats: Sequence[ExportFormat], progress: Callable[[int, int], None]) -> int:
        """``export`` what the token may see of the remote vault."""
        done, cursor = 0, None
        replaced: dict[str, str] = {}
        with open_stage(folder, formats) as stage:
            while True:
                arguments = {"order": "oldest", "limit": 200, "include_archived": True, "workspace": "all"}
                page = await self._call("memory_list", {**arguments, "max_tokens": 100_000, "cursor": cursor})
                if CUT in page.get("warnings", ()):
                    raise RemoteRefused("a memory is too long to be sent whole: export it on the server")
                memories = [_to_memory(memory) for memory in page["memories"]]
                stage.write([_to_exported(memory, replaced) for memory in memories])
                done, cursor = done + len(memories), page.get("cursor")
                progress(done, page["total"])
                if cursor is None:
                    break
            stage.commit()
        return done

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A tool's result. Retries when the server says so, after the wait it asks for; else raises
        ``RemoteRefused``."""
        error: dict[str, Any] = {}
        for attempt in range(ATTEMPTS):
            result = await self._client.call_tool(tool, {k: v for k, v in arguments.items() if v is not None})
            content: dict[str, Any] = result.structured_content or {}
            if not result.is_error:
                return content
            error = content.get("error") or {"message": "the server answered with an error"}
            if not error.get("retryable"):
                break
            asked = float((error.get("details") or {}).get("retry_after_s") or 0.1 * 2**attempt)
            await asyncio.sleep(min(asked, LONGEST_WAIT_S))
        raise RemoteRefused(str(error.get("message")))


def _arguments(line: MemoryLine, number: int) -> dict[str, Any]:
    whole = with_external_id(line, number)
    arguments = whole.model_dump(mode="json", exclude=_LOCAL_FIELDS, exclude_none=True)
    if whole.created_at is not None:
        arguments.setdefault("occurred_at", whole.created_at)
    key = f"import:{hash_parts(arguments)}"
    # The same line always means the same memory, so content equal to another's is no reason to leave it out.
    return {**arguments, "idempotency_key": key, "on_duplicate": "store" if line.external_id else "return"}


def _to_memory(found: dict[str, Any]) -> Memory:
    """A memory from an answer, which lacks empty fields and may have some of a newer server."""
    values: dict[str, Any] = {each.name: found[each.name] for each in fields(Memory) if each.name in found}
    return Memory(**values)


def _to_exported(memory: Memory, replaced: dict[str, str]) -> ExportedMemory:
    if memory.superseded_by is not None:
        replaced[memory.id] = memory.external_id or memory.id
    derived = memory.title == derive_title(memory.content)
    return ExportedMemory(memory, derived, replaced.pop(memory.supersedes or "", None))
