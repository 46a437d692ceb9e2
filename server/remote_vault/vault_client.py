"""A vault of another server, as a client of its tools: for import and export with ``--url``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.remote_vault.endpoint import endpoint_of, token_in
from server.remote_vault.line_push import LinePush, TranscriptPush
from server.rendering.answers import CUT
from vaults.domain.import_export.exports import ExportFormat, open_stage
from vaults.domain.import_export.import_runs import ImportRun
from vaults.domain.import_export.memory_export import ExportedMemory
from vaults.domain.import_export.run_undo import UndoTally
from vaults.domain.import_export.source_import import ImportPlan, ImportTally, OnBatch, import_source
from vaults.domain.memories.memory_model import Memory
from vaults.domain.text.titles import derive_title
from vaults.errors import StrongroomError, VaultUnavailable

if TYPE_CHECKING:
    from mcp import Client

ATTEMPTS = 8
"""Tries of one call while the server says to retry later."""

LONGEST_WAIT_S = 30.0
_CONFIRMED = {"confirmed": True}
"""Whoever started the import is the person the vault may require to be asked."""


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
    answered: list[int] = []

    async def note(response: httpx2.Response) -> None:
        answered[:] = [response.status_code]

    try:
        async with (
            httpx2.AsyncClient(
                headers=headers, timeout=httpx2.Timeout(90.0), trust_env=False, event_hooks={"response": [note]}
            ) as http,
            # List every tool: the client checks results against the schemas it was shown.
            Client(streamable_http_client(f"{endpoint}?tools=full", http_client=http)) as client,
        ):
            yield RemoteVault(client)
    except (httpx2.HTTPError, MCPError, OSError, ExceptionGroup) as failure:
        raise _real_cause(failure, (httpx2.HTTPError, MCPError, OSError), endpoint, answered) from None


_REFUSALS = {401: "refuses the token", 403: "refuses the token", 404: "is no vault that the token opens"}


def _real_cause(
    failure: Exception, far: tuple[type[Exception], ...], endpoint: str, answered: Sequence[int]
) -> Exception:
    """The real cause: the client's task groups wrap whatever is raised inside them. ``answered``: the last status."""
    single: Exception = failure
    while isinstance(single, ExceptionGroup):
        single = single.exceptions[0]
    if isinstance(single, far):
        reason = _REFUSALS.get(answered[0], "cannot be reached") if answered else "cannot be reached"
        return VaultUnavailable(f"{endpoint} {reason}")
    return single


class RemoteVault:
    """The remote vault, as import and export need it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def push(self, plan: ImportPlan, progress: OnBatch) -> ImportTally:
        """``import_into_vault`` for the remote vault."""
        lines = self.open_push(plan.source.name, str(plan.path.absolute()))
        tally = await import_source(plan, lines.push, progress)
        await lines.end()
        return tally

    def open_push(self, source: str, path: str) -> LinePush:
        """What stores lines in the remote vault, as one run."""
        return LinePush(self._call_confirmed, source, path)

    def open_transcript_push(self) -> TranscriptPush:
        """What stores the lines of a harvest in the remote vault."""
        return TranscriptPush(self._call_confirmed)

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a writing tool. Raises ``RemoteRefused`` for an error that a retry does not change."""
        return await self._call_confirmed(tool, arguments)

    async def list_import_runs(self) -> list[ImportRun]:
        """Imports that whoever has the token made."""
        answer = await self._call("imports", {"max_tokens": 100_000})
        return [_to_run(each) for each in answer.get("runs", ())]

    async def undo_import(self, run: str, progress: Callable[[UndoTally, int], None]) -> UndoTally:
        """``undo`` for an import of the remote vault; ``progress`` hears of how many records it is."""
        tally = UndoTally()
        total = sum(each.brought for each in await self.list_import_runs() if each.id.startswith(run))
        while True:
            answer = await self._call_confirmed("imports", {"action": "undo", "run": run})
            for name, part in (("removed", tally.removed), ("restored", tally.restored), ("kept", tally.kept)):
                part.update(answer.get(name, {}))
            progress(tally, max(total, tally.total))
            if not answer.get("more"):
                return tally

    async def _call_confirmed(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._call(tool, {**arguments, **_CONFIRMED})

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


def _to_run(run: dict[str, Any]) -> ImportRun:
    """A run from an answer, which lacks empty fields and may have some of a newer server."""
    given = {each.name: run[each.name] for each in fields(ImportRun) if each.name in run}
    return ImportRun(**{"seq": 0, "source": "", "path": "", "who": "", "started_at": "", **given})


def _to_memory(memory: dict[str, Any]) -> Memory:
    """A memory from an answer, which lacks empty fields and may have some of a newer server."""
    values: dict[str, Any] = {each.name: memory[each.name] for each in fields(Memory) if each.name in memory}
    return Memory(**values)


def _to_exported(memory: Memory, replaced: dict[str, str]) -> ExportedMemory:
    if memory.superseded_by is not None:
        replaced[memory.id] = memory.external_id or memory.id
    derived = memory.title == derive_title(memory.content)
    return ExportedMemory(memory, derived, replaced.pop(memory.supersedes or "", None))
