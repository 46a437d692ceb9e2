"""This process as one of the cluster's, as those know it that store vaults whole."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.cluster.held_lease import HeldLease
from vaults.cluster.postgres.connections import Connections


@dataclass(frozen=True, slots=True)
class ClusterSeat:
    """Its id there and its lease, and what it reaches the database by."""

    connections: Connections
    server: str
    lease: HeldLease
