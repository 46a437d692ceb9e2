"""Whether a request that is served here found its vault on another server, told to the door it came through.

Between a look at where a vault is and the call in it, the vault may be handed over. A request that did nothing yet is
then passed on, and its caller sees none of it. Where no door asks, as on one machine, telling costs a look at a
variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class LocalAttempt:
    """One request. ``began``: it reached a vault, so it may have done something."""

    found_elsewhere: bool = False
    began: bool = False

    @property
    def did_nothing(self) -> bool:
        """Whether it may be made again on the server that has the vault."""
        return self.found_elsewhere and not self.began


_attempt: ContextVar[LocalAttempt | None] = ContextVar("local_attempt", default=None)


def is_watched() -> bool:
    """Whether a door sees to it that the request this task serves is made where its vault is."""
    return _attempt.get() is not None


@contextmanager
def watching_attempt() -> Iterator[LocalAttempt]:
    """What is told of the request that this task makes inside the block, and the tasks it starts."""
    before = _attempt.set(attempt := LocalAttempt())
    try:
        yield attempt
    finally:
        _attempt.reset(before)


def tell_began() -> None:
    """The request reached its vault."""
    if (attempt := _attempt.get()) is not None:
        attempt.began = True


def tell_elsewhere() -> None:
    """The request did not reach its vault: another server has it."""
    if (attempt := _attempt.get()) is not None:
        attempt.found_elsewhere = True
