"""Where log lines go: a file descriptor that is never waited for.

A log collector that stops reading fills the pipe, and a blocking write would then stop the event loop and with it
every vault. So a line is written only if the descriptor can take it now; else it is dropped and counted, and the
first line that fits again is preceded by one that says how many are missing. Chosen over a writer thread: no hand-over
per line, order kept, and the last lines before a crash are really out. (With several workers on one pipe a line may
still wait if another worker takes the last free page between poll and write; lines fit a page, so only then.)
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

from ops.log_lines import to_json_line


def _ignore_count(count: int) -> None:
    del count


class Sink:
    """Writes whole lines to ``fd``, which it does not own. Any thread; never blocks, never raises."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        # Windows has no poll: there a full pipe does block.
        self._room = select.poll() if hasattr(select, "poll") else None
        if self._room is not None:
            self._room.register(fd, select.POLLOUT)
        self._missing = 0
        self.on_drop: Callable[[int], None] = _ignore_count  # called for each dropped line: the metric

    @property
    def terminal(self) -> bool:
        return os.isatty(self._fd)

    def write(self, line: str) -> None:
        """One line of ASCII with its newline."""
        with self._lock:
            if self._missing and self._put(self._notice()):
                self._missing = 0
            if self._missing or not self._put(line):
                self._missing += 1
                self.on_drop(1)

    def _notice(self) -> str:
        return to_json_line({"level": "warning", "event": "log_lines_dropped", "count": self._missing})

    def _put(self, line: str) -> bool:
        """Write the line; False if it was dropped, alike for a full disk, a closed pipe and a full pipe."""
        try:
            if self._room is not None and not any(event & select.POLLOUT for _, event in self._room.poll(0)):
                return False
            os.write(self._fd, line.encode("ascii", "replace"))
        except (OSError, ValueError):
            return False
        return True
