"""What this process has as one of several servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from server.cluster.peer_door import PeerDoor
from server.cluster.peer_identity import PeerServer


class Membership(Protocol):
    """Which servers there are."""

    @property
    def id(self) -> str: ...

    @property
    def servers(self) -> Sequence[PeerServer]: ...


@dataclass(frozen=True, slots=True)
class Cluster:
    """``door``: where others reach it; None for a process that takes no requests."""

    membership: Membership
    held: Any
    door: PeerDoor | None
