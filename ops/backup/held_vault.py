"""A vault that is being copied, kept from being exchanged, moved or erased meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ops.backup.pace import Pace
from vaults.errors import Conflict, VaultUnavailable
from vaults.vault_gate import VaultGate


@contextmanager
def held_open(folder: Path, pace: Pace) -> Iterator[Pace]:
    """Hold the gate of a vault, as everybody does who has it open: a database of before a restore and notes of after it
    are no backup. The pace to copy at; it ends the copy when somebody wants the folder alone. Raises ``Conflict``."""
    gate = VaultGate(folder)

    def is_stopped() -> bool:
        if gate.is_wanted():
            raise _wanted()
        return pace.stopped()

    try:
        gate.enter()
    except VaultUnavailable:
        raise _wanted() from None
    try:
        yield replace(pace, stopped=is_stopped)
    finally:
        gate.leave()


def _wanted() -> Conflict:
    return Conflict("the vault is being restored, moved or deleted", hint="back it up when that is done")
