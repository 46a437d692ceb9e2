"""What every measurement is given."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "bench" / "out"


@dataclass(frozen=True, slots=True)
class Run:
    """``scale`` is 1 for figures that count, less for a smoke run. ``locomo`` is the folder of the conversations,
    ``out`` the one for what a part leaves behind to be checked."""

    scale: float = 1.0
    locomo: Path | None = None
    out: Path = OUT

    def sized(self, count: int, least: int = 1) -> int:
        """``count`` at this scale."""
        return max(least, round(count * self.scale))

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """An empty folder on disk for one measurement, gone afterwards."""
        with tempfile.TemporaryDirectory(prefix=f"strongroom-bench-{name}-", ignore_cleanup_errors=True) as made:
            yield Path(made)

    @contextmanager
    def report_progress(self, what: str) -> Iterator[None]:
        """Say on stderr what is going on, and how long it took."""
        began = time.perf_counter()
        print(f"  {what} ...", end="", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            print(f" {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
