"""What the parts of a cluster exchange. Covers vaults.cluster.vault_log and vaults.cluster.failures."""

from __future__ import annotations

import pytest

from vaults.cluster.failures import Fenced, LogDamaged, LogUnavailable
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.vault_log import VaultLog


def test_postgresql_is_a_vault_log(connections) -> None:
    log: VaultLog = PostgresVaultLog(connections)
    assert list(log.entries("nobody's", 0)) == []
    assert log.base("nobody's") is None


@pytest.mark.parametrize("failure", [Fenced(), LogUnavailable()])
def test_who_is_fenced_or_cut_off_may_call_again(failure: Fenced | LogUnavailable) -> None:
    assert failure.retryable
    assert failure.hint == "call again"
    assert failure.code == "vault_unavailable"


def test_a_damaged_log_names_the_vault_and_the_place_and_is_not_tried_again() -> None:
    failure = LogDamaged("main", 17, "an entry is missing")
    assert failure.details == {"vault": "main", "seq": 17}
    assert "main" in failure.message
    assert "17" in failure.message
    assert not failure.retryable
