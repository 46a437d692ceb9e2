"""Who is told of calls that succeeded in this process: pages that show who is at work. What was said is not told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeardCall:
    """``vault_id``: what a vault keeps when it is renamed. ``session``: the handle of the one the call belongs to."""

    vault_id: str
    session: str
    client: str | None
    tool: str
    writes: bool


CallListener = Callable[[HeardCall], None]


class CallListeners:
    """The listeners. They return at once, and raise nothing."""

    def __init__(self) -> None:
        self._listeners: list[CallListener] = []

    def __bool__(self) -> bool:
        """Whether anybody listens: calls make nothing for nobody."""
        return bool(self._listeners)

    def add(self, listener: CallListener) -> None:
        """Call ``listener`` from now on."""
        self._listeners.append(listener)

    def remove(self, listener: CallListener) -> None:
        """Call it no more."""
        self._listeners.remove(listener)

    def tell(self, heard: HeardCall) -> None:
        """Call every listener."""
        for listener in tuple(self._listeners):
            listener(heard)
