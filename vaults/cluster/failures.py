"""What goes wrong between a server and what outlives it."""

from __future__ import annotations

from vaults.errors import VaultUnavailable


class Fenced(VaultUnavailable):
    """Another server holds the vault now, or this one is no longer believed to be alive. Nothing was stored."""

    def __init__(self, message: str = "another server has taken the vault over") -> None:
        super().__init__(message, hint="call again")


class LogUnavailable(VaultUnavailable):
    """The log cannot be reached. What was to be appended may or may not be in it: only reading it tells."""

    def __init__(self, message: str = "the cluster's database did not answer") -> None:
        super().__init__(message, hint="call again")


class LogDamaged(VaultUnavailable):
    """An entry of the log, or a base, is not what was stored. Nothing of the vault is served from it."""

    retryable = False

    def __init__(self, vault: str, seq: int, what: str) -> None:
        super().__init__(
            f"the log of vault {vault} is damaged at {seq}: {what}",
            hint="the operator must restore the cluster's database",
            vault=vault,
            seq=seq,
        )
