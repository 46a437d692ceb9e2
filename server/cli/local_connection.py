"""A command's connection to a server that runs over its data folder."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Mapping

from server.local_socket import (
    DECLINED,
    MESSAGE_BYTES,
    SIZE_BYTES,
    find_sockets,
    frame,
    settings_stamp,
    short_name,
    variable,
)

Wish = dict[str, object]
HELLO_S = 2.0
"""Seconds for a server to say whether it takes wishes: it does so at once, unless it hangs."""


class LocalServer:
    """A connection to a server that takes wishes. ``until``: when to give up, by the monotonic clock; None: never."""

    def __init__(self, connection: socket.socket, until: float | None) -> None:
        self._connection = connection
        self._until = until

    @classmethod
    def find(cls, data: str, options: Mapping[str, str], until: float | None) -> LocalServer | None:
        """The first of those that serve a data folder, and work by the same settings. One that does not say so within
        ``HELLO_S`` is passed over: nothing was asked of it yet. Raises ``TimeoutError`` when it is time to give up."""
        config = options.get("--config") or variable("CONFIG") or os.path.join(data, "strongroom.toml")  # noqa: PTH118
        for path in find_sockets(data):
            server = cls(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), until)
            if server._is_reached(path, settings_stamp(config)):
                return server
            server._connection.close()
            if until is not None and time.monotonic() >= until:
                raise TimeoutError
        return None

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, wish: Wish) -> dict[str, object]:
        """What it answers. Raises ``OSError`` if it ends before, ``TimeoutError`` when it is time to give up."""
        message = frame(wish)
        return self._exchange(message) if len(message) <= MESSAGE_BYTES else DECLINED

    def _is_reached(self, path: str, stamp: str) -> bool:
        patience, self._until = self._until, min(self._until or math.inf, time.monotonic() + HELLO_S)
        try:
            self._connection.setblocking(False)
            with short_name(path) as name:
                self._connection.connect(name)
            return bool(self._exchange(frame({"stamp": stamp})).get("accepted"))
        except OSError:  # killed, or hung, or with too many waiting
            return False
        finally:
            self._until = patience

    def _exchange(self, message: bytes) -> dict[str, object]:
        self._wait()
        self._connection.sendall(message)
        size = int.from_bytes(self._receive(SIZE_BYTES), "big")
        try:
            answer = json.loads(self._receive(size))
        except ValueError:
            raise ConnectionError from None
        return answer if isinstance(answer, dict) else DECLINED

    def _receive(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size:
            self._wait()
            piece = self._connection.recv(min(size, 1 << 20))
            if not piece:
                raise ConnectionError
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _wait(self) -> None:
        left = None if self._until is None else self._until - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
