"""A vault of notes behind a real server or in this process: what is common to their measurements."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auth.principal import owner
from auth.roles import Role
from bench import data_folders, servers
from bench.run import Run
from bench.servers import Server
from bench.wire import RawConnection, VaultEndpoint, result_of
from server.call import Caller
from server.dispatch import dispatch
from server.services import open_services
from server.tools import discover

VAULT = "main"
EVERY_S = 0.02
SMOKE = 300
READY_S, VECTORS_S = 600.0, 900.0
NO_VECTORS = {"embedding.engine": "off"}

Timed = Callable[[str, Mapping[str, Any]], tuple[float, dict[str, Any]]]
"""Calls a tool: seconds and its structured result. Raises ``RuntimeError`` when the tool answers with an error."""


@dataclass(frozen=True, slots=True)
class ServedNotes:
    """An open vault of notes; one call at a time. ``pause`` lets seconds pass, and background work go on. ``server``
    None: it is served in this process."""

    timed: Timed
    pause: Callable[[float], None]
    folder: Path
    server: Server | None = None

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The structured result of a call."""
        return self.timed(tool, arguments)[1]

    def notes(self) -> dict[str, Any]:
        """The section ``notes`` of ``status``."""
        found: dict[str, Any] = self.ask("status", {})["notes"]
        return found

    def await_index(self, count: int, meanwhile: Callable[[], None] = lambda: None) -> float:
        """Seconds from now until the index is known to agree with the disk. Raises when it holds another number of
        notes than ``count`` then, or never agrees."""
        began = time.perf_counter()
        while (found := self.notes())["state"] != "ready":
            if time.perf_counter() - began > READY_S:
                raise RuntimeError(f"not indexed after {READY_S:g} s: {found}")
            meanwhile()
            self.pause(EVERY_S)
        seconds = time.perf_counter() - began
        if found["notes"] != count:
            raise RuntimeError(f"{found['notes']} notes of {count} in an index that is ready: {found}")
        return seconds

    def await_vectors(self) -> None:
        """Until nothing waits for the model."""
        until = time.monotonic() + VECTORS_S
        while pending := self.ask("status", {})["embedding"]["pending"]:
            if time.monotonic() > until:
                raise RuntimeError(f"{pending} passages without a vector after {VECTORS_S:g} s")
            self.pause(0.25)

    def search(self, query: str, mode: str, **more: Any) -> dict[str, Any]:
        """One search. Raises when it was answered in another mode."""
        found = self.ask("search", {"query": query, "mode": mode, **more})
        if found["mode_used"] != mode:
            raise RuntimeError(f"asked for {mode}, answered {found['mode_used']}: {found['warnings']}")
        return found

    def finds(self, path: str, query: str, mode: str) -> bool:
        """Whether a search names the note among its first ten hits."""
        return any(is_hit_for(hit, path) for hit in self.search(query, mode)["hits"])


def scaled_count(run: Run, count: int) -> int:
    """Notes of a vault: ``count`` where figures count, a few to see that everything works."""
    return count if run.scale == 1 else SMOKE


def is_hit_for(hit: Mapping[str, Any], path: str) -> bool:
    """Whether a hit is the note at ``path``."""
    return path in (hit["id"], hit.get("path")) or hit["url"] == f"note://{path}"


def prepare_vault(data: Path) -> tuple[data_folders.DataFolder, Path]:
    """A data folder with one vault, and the folder its notes go into."""
    ready = data_folders.prepare_folder(data, {"ann": (VAULT,)})
    folder = data / "vaults" / VAULT / "notes"
    folder.mkdir(exist_ok=True)
    return ready, folder


@contextmanager
def serve_over_http(
    data_folder: data_folders.DataFolder, flags: Mapping[str, Any] | None = None
) -> Iterator[ServedNotes]:
    """A server of its own, and one connection to it."""
    with (
        servers.run_server(servers.SERVE, data_folder.data, **(flags or {})) as server,
        RawConnection(server.port, READY_S) as line,
    ):
        door = VaultEndpoint(server.port, VAULT, data_folder.tokens["ann"])

        def timed(tool: str, arguments: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
            seconds, body = line.timed(door.call(tool, arguments))
            return seconds, result_of(body)

        yield ServedNotes(timed, time.sleep, data_folder.data / "vaults" / VAULT / "notes", server)


@contextmanager
def serve_in_process(
    data_folder: data_folders.DataFolder, flags: Mapping[str, Any] | None = None
) -> Iterator[ServedNotes]:
    """The same calls through ``dispatch``, without a door: what the tools themselves take."""
    loaded = data_folders.default_settings(data_folder.data, **(flags or {}))
    caller = Caller(owner("cli"), VAULT, Role.ADMIN, "cli", preset="full")
    with asyncio.Runner() as runner:
        opened = open_services(loaded.settings, data_folder.data, discover())
        services = runner.run(opened.__aenter__())

        async def call(tool: str, arguments: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
            began = time.perf_counter()
            outcome = await dispatch(services, caller, tool, arguments)
            seconds = time.perf_counter() - began
            if not outcome.ok:
                raise RuntimeError(f"{tool} failed: {outcome.text}")
            return seconds, outcome.content

        try:
            yield ServedNotes(
                lambda tool, arguments: runner.run(call(tool, arguments)),
                lambda seconds: runner.run(asyncio.sleep(seconds)),
                data_folder.data / "vaults" / VAULT / "notes",
            )
        finally:
            runner.run(opened.__aexit__(None, None, None))
