"""Each vault is backed up by one server of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from server.cluster.backup_share import own_share
from vaults.cluster.held_vaults import HeldVaults
from vaults.cluster.postgres.placements import VaultHolder
from vaults.cluster.rendezvous import prefer
from vaults.cluster.server_watch import ServerBeat
from vaults.registry import VaultEntry

NAMES = ("alpha", "beta", "gamma")


def beat(name: str) -> ServerBeat:
    return ServerBeat(f"{name}-1", f"{name}:8701", "0.1.0", 1, 3.0, name=name)


def entry(vault: str) -> VaultEntry:
    return VaultEntry(vault, f"id-{vault}", None, "active", "agent", "auto", "2026-01-01T00:00:00Z")


@dataclass
class Member:
    id: str
    state: str = "serving"
    candidates: Sequence[ServerBeat] = tuple(map(beat, NAMES))


@dataclass
class Placed:
    rows: list[VaultHolder]

    def holders(self) -> list[VaultHolder]:
        return self.rows


@dataclass
class Held:
    membership: Member
    placements: Placed
    own: set[str] = field(default_factory=set)

    def is_here(self, vault_id: str) -> bool:
        return vault_id in self.own


def server(name: str, held_by: dict[str, str], state: str = "serving") -> HeldVaults:
    """``held_by``: the server of each vault, or nobody's name."""
    rows = [
        VaultHolder(
            f"id-{vault}", f"{holder}-1" if holder else None, 1, 0, f"{holder}:8701" if holder in NAMES else None
        )
        for vault, holder in held_by.items()
    ]
    own = {f"id-{vault}" for vault, holder in held_by.items() if holder == name}
    return cast(HeldVaults, Held(Member(f"{name}-1", state), Placed(rows), own))


async def test_every_vault_is_one_servers_share_whoever_holds_it() -> None:
    vaults = [f"v{number}" for number in range(60)]
    held_by = {vault: ("", "gone", *NAMES)[number % 5] for number, vault in enumerate(vaults)}
    entries = [entry(vault) for vault in vaults]
    shares = [await own_share(server(name, held_by), entries) for name in NAMES]
    assert sorted(each.name for share in shares for each in share) == sorted(vaults)
    for name, share in zip(NAMES, shares, strict=True):
        mine = {each.name for each in share}
        assert {vault for vault, holder in held_by.items() if holder == name} <= mine
        for vault in mine - {vault for vault, holder in held_by.items() if holder == name}:
            target = prefer(f"id-{vault}", map(beat, NAMES))
            assert target is not None
            assert target.name == name


async def test_a_server_that_drains_begins_no_backups() -> None:
    assert await own_share(server("alpha", {"one": "alpha"}, "draining"), [entry("one")]) == []
