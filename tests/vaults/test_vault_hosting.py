"""Where vaults are, on one machine."""

from __future__ import annotations

from pathlib import Path

from vaults.errors import VaultUnavailable
from vaults.registry import VaultEntry
from vaults.vault_hosting import LOCAL_HOSTING, VaultElsewhere


async def test_on_one_machine_every_vault_is_there_and_its_files_are_left_alone(tmp_path: Path) -> None:
    entry = VaultEntry("main", "v-1", None, "active", "agent", "auto", "2026-01-01T00:00:00Z")
    (tmp_path / "vault.db").write_bytes(b"kept")
    await LOCAL_HOSTING.take(entry, tmp_path)
    await LOCAL_HOSTING.put_down(entry, tmp_path)
    assert (tmp_path / "vault.db").read_bytes() == b"kept"


def test_whoever_meets_a_vault_elsewhere_is_told_to_call_again() -> None:
    elsewhere = VaultElsewhere("alpha-1", "10.0.0.1:8701")
    assert isinstance(elsewhere, VaultUnavailable)
    assert (elsewhere.server, elsewhere.address, elsewhere.hint) == ("alpha-1", "10.0.0.1:8701", "call again")
    assert "10.0.0.1" not in str(elsewhere), "where servers listen is not for callers"
