"""Sockets that listen: bound before anything else is done, so that a port that is taken is said at once."""

from __future__ import annotations

import socket

from vaults.errors import InvalidArgument

BACKLOG = 1024  # connections the kernel holds until a worker accepts them


def bind(host: str, port: int, section: str = "") -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises ``InvalidArgument`` naming address and reason when it is taken, unknown or not allowed; ``section``: of the
    settings ``host`` and ``port``, with its dot, where they are not arguments.
    """
    try:
        family, kind, proto, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise InvalidArgument(f"{section}host", f"{host}: {error.strerror}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "0 takes a free port"
        raise InvalidArgument(f"{section}port", f"{port} on {host}: {error.strerror}", hint=hint) from error
    listener.setblocking(False)
    return listener
