"""Large vaults are found by their newest whole base, and what they take is told without reading it.

Covers vaults.cluster.postgres.large_vaults, vaults.cluster.postgres.log.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vaults.cluster.postgres.connections import Connections
from vaults.cluster.postgres.large_vaults import LargeVault, LargeVaults
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.vault_log import Placement


def large(connections: Connections, above_mb: int) -> list[LargeVault]:
    return LargeVaults(connections, above_mb).find()


def test_a_vault_is_large_by_its_newest_whole_base(
    connections: Connections, log: PostgresVaultLog, held: Placement
) -> None:
    assert large(connections, 0) == []
    log.replace_base(held, 0, [b"head", b"1 MB", b"2 MB", b"3 MB"])
    for number in range(3):
        held = log.append(held, b"%d" % number)
    assert large(connections, 2) == [LargeVault("main", "a", None, 3, 0, 3)]
    assert large(connections, 3) == []

    def killed() -> Iterator[bytes]:
        yield from [b"head", b"1 MB", b"2 MB", b"3 MB", b"4 MB"]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log.replace_base(held, 2, killed())
    assert large(connections, 2) == [LargeVault("main", "a", None, 3, 0, 3)]
    with connections.use() as connection:  # a base that was shown, and whose elders are still there
        connection.execute(
            "INSERT INTO strongroom.vault_base (vault, seq, parts) VALUES ('main', 2, 2), ('gone', 2, 1000)"
        )
    assert large(connections, 1) == []
    assert large(connections, 0) == [LargeVault("main", "a", None, 3, 2, 1)]


def test_the_sizes_of_base_and_log_are_told(log: PostgresVaultLog, held: Placement) -> None:
    assert log.sizes("main") == (0, 0)
    log.replace_base(held, 0, [b"head", b"some pages"])
    for payload in (b"one", b"four", b"eleven"):
        held = log.append(held, payload)
    assert log.sizes("main") == (14, 13)
    log.replace_base(held, 2, [b"head", b"other pages"])
    assert log.sizes("main") == (15, 6)


def test_who_has_a_copy_is_known_until_it_says_otherwise(
    connections: Connections, log: PostgresVaultLog, held: Placement, placements: Placements
) -> None:
    log.replace_base(held, 0, [b"head", b"1 MB"])
    vaults = LargeVaults(connections, 0)
    placements.register("other")
    vaults.say_copies("b", ["main", "other"])
    assert [each.standby for each in placements.holders()] == ["b", "b"]
    assert vaults.find() == [LargeVault("main", "a", "b", 0, 0, 1)]
    vaults.say_copies("c", ["other"])
    vaults.say_copies("b", [])
    assert [each.standby for each in placements.holders()] == [None, "c"]
