"""Ports for programs that cannot be told to take a free one and say which."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """A port of 127.0.0.1 that nobody but who is told of it gets while the block runs. A socket is bound to it, and
    does not listen: whoever names the port may share it then, as servers do that are started again, and whoever asks
    for any port gets another."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield int(kept.getsockname()[1])
