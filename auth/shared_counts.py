"""What other servers of the installation counted towards a limit: nothing where there is one server."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeAlias

LookAtCount: TypeAlias = Callable[[Hashable], tuple[int, float]]
"""What is counted here under a key, and for how many seconds that holds."""


class CountsElsewhere(Protocol):
    """The counts of other servers under the keys of one counter. On the event loop."""

    def count(self, key: Hashable, limit: int) -> int:
        """What they count now, as far as is known here. To be asked whenever something is counted here towards this
        ``limit``: the others are told of that soon."""

    def forget(self, key: Hashable) -> None:
        """Nothing that was counted under this key so far counts any more."""


class SharedCounts(Protocol):
    """Where the counters of a process meet those of other servers."""

    def join(self, name: str, look: LookAtCount) -> CountsElsewhere:
        """Share a counter with those of that name elsewhere. ``look`` is called on the event loop, now and then, for
        keys that were asked for."""


class NothingElsewhere:
    """The default: this is the only server."""

    def count(self, key: Hashable, limit: int) -> int:  # noqa: ARG002
        return 0

    def forget(self, key: Hashable) -> None:
        """Nothing."""


class UnsharedCounts:
    """The default: every counter is counted here alone."""

    def join(self, name: str, look: LookAtCount) -> CountsElsewhere:  # noqa: ARG002
        return NothingElsewhere()


UNSHARED = UnsharedCounts()
