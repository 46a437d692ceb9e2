"""What ``/health/ready`` says of a server that is one of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ops.health import HealthRegistry

if TYPE_CHECKING:
    from vaults.cluster.held_vaults import HeldVaults

LATE = 0.5
"""Of a lease: a server whose heartbeats are answered has more left, as it beats four times a lease."""


def register_cluster(health: HealthRegistry, held: HeldVaults, name: str) -> None:
    """A server without its lease answers nobody, so nobody is to be sent there; nor to one that hands its vaults over.
    ``name``: what it is called."""
    membership = held.membership

    def left_s() -> float:
        seat = membership.seat
        return 0.0 if seat is None else seat.lease.left_s()

    async def lease() -> str:
        return "ok" if left_s() > 0 else "failed"

    async def database() -> str:
        seat = membership.seat
        return "ok" if seat is not None and left_s() > LATE * seat.lease.lease_s else "stale"

    def details() -> Mapping[str, object]:
        return {
            "server": name,
            "state": membership.state,
            "servers": sum(each.state == "serving" for each in membership.servers),
            "vaults": held.count,
            "lease_left_s": round(left_s(), 2),
        }

    health.register("lease", lease, required=True)
    health.register("database", database, required=False)
    health.register_details("cluster", details)
    health.drain_while(lambda: membership.state == "draining")
