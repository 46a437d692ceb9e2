"""Searches, changes, rebuilds and saves at once. In a process of its own: without the lock FAISS dies of SIGSEGV."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.work import PATIENCE_S
from vaults.index.vector_index import SnapshotStamp, VectorChange, VectorIndex
from vaults.settings import IndexSettings

WIDTH = 32
PASSAGES = 4000


@pytest.mark.parametrize(("flat_limit", "seconds"), [(1000, 1.5), (1_000_000, 1.0)], ids=["compressed", "flat"])
def test_two_searchers_a_writer_a_rebuilder_and_a_saver_survive(
    tmp_path: Path, flat_limit: int, seconds: float
) -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, __file__, str(flat_limit), str(tmp_path / "vectors.idx"), str(seconds)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
        env={"PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.startswith("rounds")


def units(random: np.random.Generator, count: int) -> np.ndarray:
    rows = random.standard_normal((count, WIDTH)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Storm:
    """One index under everything at once; ``truth`` is what the only writer has put in."""

    def __init__(self, flat_limit: int, path: Path, seconds: float) -> None:
        self.settings, self.path = IndexSettings(flat_limit=flat_limit), path
        self.index = VectorIndex(WIDTH, self.settings)
        self.began, self.seconds = time.monotonic(), seconds
        self.truth: dict[int, bytes] = {}
        self.rounds = dict.fromkeys(("write", "search", "rebuild", "save"), 0)
        self.failures: list[BaseException] = []
        self.never = threading.Event()

    def write(self, random: np.random.Generator) -> None:
        batch = {int(random.integers(PASSAGES)): row.tobytes() for row in units(random, 50)}
        gone = [int(passage) for passage in random.integers(PASSAGES, size=20) if int(passage) not in batch]
        changes = [VectorChange(*item) for item in [*batch.items(), *((passage, None) for passage in gone)]]
        self.index.apply(changes, self.index.seen + 1)
        self.truth.update(batch)
        for passage in gone:
            self.truth.pop(passage, None)

    def search(self, random: np.random.Generator) -> None:
        allow = random.integers(PASSAGES, size=400) if random.random() < 0.5 else None
        found = [passage for passage, _ in self.index.search(units(random, 1)[0], 10, allow)]
        assert len(set(found)) == len(found)
        assert allow is None or set(found) <= set(allow.tolist())

    def rebuild(self, random: np.random.Generator) -> None:
        self.index.rebuild()
        self.never.wait(0.02)

    def save(self, random: np.random.Generator) -> None:
        stamp = SnapshotStamp("v", "m", WIDTH, 0)
        self.index.save(self.path, stamp)
        VectorIndex.load(self.path, stamp, self.settings)
        self.never.wait(0.1)

    def loop(self, seed: int, work: Callable[[np.random.Generator], None]) -> None:
        random = np.random.default_rng(seed)
        try:
            while not self.is_over() and not self.failures:
                work(random)
                self.rounds[work.__name__] += 1
        except BaseException as failure:
            self.failures.append(failure)
            raise

    def is_over(self) -> bool:
        """Everything was done a few times, beside everything else for a while."""
        lasted = time.monotonic() - self.began
        return lasted > PATIENCE_S or (lasted > self.seconds and min(self.rounds.values()) > 5)

    def run(self) -> None:
        works = (self.write, self.search, self.search, self.rebuild, self.save)
        threads = [threading.Thread(target=self.loop, args=item) for item in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check(self) -> None:
        assert not self.failures
        assert min(self.rounds.values()) > 5, self.rounds
        assert len(self.index) == len(self.truth)
        for passage, raw in list(self.truth.items())[:300]:
            ((found, score),) = self.index.search(np.frombuffer(raw, "<f4"), 1, np.array([passage]))
            assert found == passage
            assert abs(score - 1) < 2e-3  # the compressed part keeps fp16


if __name__ == "__main__":
    storm = Storm(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
    storm.run()
    storm.check()
    print("rounds", storm.rounds)
