"""Which server a free vault goes to: each server, asked alone, names the same one, and a server that joins or goes, or
has another weight, moves no vaults but its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from hashlib import blake2b

from vaults.cluster.server_watch import ServerBeat

SCHEMA_MARK = "+schema"
"""In a server's version, before the number of its last migration of a vault."""


def prefer(
    vault_id: str, servers: Iterable[ServerBeat], pin: str | None = None, standby: str | None = None
) -> ServerBeat | None:
    """The serving one of the highest hash with the vault; None where none serves. One of twice the weight has twice as
    many vaults. While servers of several schemas serve, one of the oldest: the others would have to migrate the vault,
    and it could not go back. ``pin``: the name of the one it goes to whatever its hash is, while that is among these;
    ``standby``: the id of the one that is quickest to serve it, before any of them.

    By name, so that a server that was restarted is preferred for what it had; of two of one name the younger, as the
    other one may be dead."""
    serving = [server for server in servers if server.state == "serving"]
    oldest = min((schema_of(server) for server in serving), default=0)
    youngest_last = sorted(serving, key=lambda server: server.beat, reverse=True)
    able = {server.name or server.id: server for server in youngest_last if schema_of(server) == oldest}
    ready = next((server for server in able.values() if server.id == standby), able.get(pin) if pin else None)
    return ready or max(able.values(), key=lambda server: _score(vault_id, server), default=None)


def prefer_after(
    vault_id: str, holder: str | None, servers: Iterable[ServerBeat], pin: str | None = None
) -> ServerBeat | None:
    """The one that is preferred once the server with the id ``holder`` is gone."""
    return prefer(vault_id, [server for server in servers if server.id != holder], pin)


def schema_of(server: ServerBeat) -> int:
    """The number of the last migration of a vault that it knows; 0 where it does not say."""
    return schema_in(server.version)


def schema_in(version: str) -> int:
    """``schema_of`` a server of that version."""
    number = version.partition(SCHEMA_MARK)[2]
    return int(number) if number.isdecimal() else 0


def _score(vault_id: str, server: ServerBeat) -> float:
    """Below 0. Of servers with weights w, each has the highest for w of their sum of all vaults."""
    name = server.name or server.id
    drawn = int.from_bytes(blake2b(f"{vault_id}\n{name}".encode(), digest_size=8).digest(), "big")
    return math.log((drawn + 1) / 2**64) / server.weight
