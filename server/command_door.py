"""Commands of the same user, served by a process that serves anyway: they need not open what is open here.

A command says hello by its settings, as ``server.cli.local_server`` does. Where they are others than this process has
it is not accepted, and works by itself. Else it asks for a tool call or a hook and gets what it would have worked out
itself: the same caller, so the same grants, fences and audit. One that hangs up ends its call.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from server.local_socket import (
    DECLINED,
    FOLDER,
    MESSAGE_BYTES,
    SIZE_BYTES,
    SUFFIX,
    find_sockets,
    frame,
    settings_stamp,
    short_name,
)
from server.services import Services
from vaults.files.permissions import FILE_MODE, make_private_folder

ASK_S = 10.0
"""Seconds a command may take to say what it wants."""

LAST_WORDS_S = 2.0
"""Seconds that calls under way get when the process ends, before they are cancelled."""

ACCEPT_AGAIN_S = 0.1
"""Seconds until another attempt to accept a connection that could not be."""

_BACKLOG = 64

log = structlog.get_logger("server.commands")

Answer = Mapping[str, Any]


@asynccontextmanager
async def open_door(services: Services, config: Path) -> AsyncIterator[None]:
    """Serve commands inside the block. ``config``: the file of settings of this process. Where no socket can be made,
    since the folder cannot be written, its name is too long or the platform has none, commands work by themselves."""
    path = services.data / FOLDER / f"{os.getpid()}{SUFFIX}"
    try:
        listener = await asyncio.to_thread(_listen, services.data, path)
    except (OSError, AttributeError) as failure:
        log.info("commands_not_served", reason=getattr(failure, "strerror", None) or type(failure).__name__)
        yield
        return
    door = _Door(replace(services, home=Path.home()), settings_stamp(str(config)))
    accepting = asyncio.create_task(door.accept(listener), name="commands")
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        accepting.cancel()
        await asyncio.gather(accepting, return_exceptions=True)
        listener.close()
        await door.close()


def _listen(data: Path, path: Path) -> socket.socket:
    make_private_folder(path.parent)
    for left in find_sockets(str(data)):
        _remove_dead(left)
    made = path.with_suffix(".new")
    for former in (path, made):  # of a process that had this number before, in another container perhaps
        former.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_name(str(made)) as name:
            listener.bind(name)
        made.chmod(FILE_MODE)
        listener.listen(_BACKLOG)
        # Found only now: whoever found it before it listens would be refused, or would take it for a dead one's.
        made.rename(path)
    except BaseException:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _remove_dead(path: str) -> None:
    """Remove a socket that nobody listens on."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.setblocking(False)
        try:
            with short_name(path) as name:
                knocking.connect(name)
        except ConnectionRefusedError:
            Path(path).unlink()


def _is_same_user(connection: socket.socket) -> bool:
    """Whether the other side is this user. Where the system does not say, the permissions of the folder must do."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    form = "3i"
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
    return bool(struct.unpack(form, told)[1] == os.geteuid())


class _Door:
    """The connections of commands."""

    def __init__(self, services: Services, stamp: str) -> None:
        self._services = services
        self._stamp = stamp
        self._serving: set[asyncio.Task[None]] = set()

    async def accept(self, listener: socket.socket) -> None:
        """Serve whoever connects, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError:  # no descriptor is left: whoever waits is served when one is free
                await asyncio.sleep(ACCEPT_AGAIN_S)
                continue
            if not _is_same_user(connection):
                connection.close()
                continue
            task = asyncio.create_task(self._serve(connection), name="command")
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def close(self) -> None:
        """Let calls under way end, or cancel them."""
        if self._serving:
            _, left = await asyncio.wait(self._serving, timeout=LAST_WORDS_S)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _serve(self, connection: socket.socket) -> None:
        async with AsyncExitStack() as stack:
            reader, writer = await asyncio.open_connection(sock=connection)
            stack.callback(writer.close)
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(ASK_S):
                    hello = await _read(reader)
                    accepted = isinstance(hello, dict) and hello.get("stamp") == self._stamp
                    writer.write(frame({"accepted": accepted}))
                    request = await _read(reader) if accepted else None
                if request is None:
                    return
                answer = await _unless_gone(reader, self._answer(request))
                if answer is not None:
                    writer.write(frame(answer))
                    await writer.drain()

    async def _answer(self, request: Any) -> Answer:
        if not isinstance(request, dict):
            return DECLINED
        # Imported when a command first asks: a start does without it.
        from server.command_answers import answer_command

        return await answer_command(self._services, request)


async def _read(reader: asyncio.StreamReader) -> Any:
    size = int.from_bytes(await reader.readexactly(SIZE_BYTES), "big")
    if size > MESSAGE_BYTES:
        return None
    try:
        return json.loads(await reader.readexactly(size))
    except (ValueError, RecursionError):
        return None


async def _unless_gone(reader: asyncio.StreamReader, answering: Any) -> Answer | None:
    """The answer; None if whoever asked hung up, which ends what was under way."""
    work, gone = asyncio.ensure_future(answering), asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        return await work if work.done() else None
    finally:
        for task in (work, gone):
            task.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)
