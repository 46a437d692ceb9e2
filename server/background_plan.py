"""What a process does unasked: a server all of it, a command that soon ends next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackgroundPlan:
    """What a process does besides calls and a vault's own upkeep."""

    vectors: bool  # backfill the vectors a vault lacks
    rounds: bool  # visit all vaults in turn
    evictions: bool  # let go what is above the limits
    logs: bool  # keep change logs, where the settings ask for them
    followers: tuple[Callable[[], object], ...] = ()  # run at each poll of the access cache


SERVER_WORK = BackgroundPlan(vectors=True, rounds=True, evictions=True, logs=True)
COMMAND_WORK = BackgroundPlan(vectors=False, rounds=False, evictions=False, logs=False)
"""For a process that ends with its command: nothing that needs the model, only the vaults asked for, and nothing goes
because somebody looked."""
