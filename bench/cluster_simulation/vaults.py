"""Vaults of a made-up installation: how large each is, how often it is called, and on which server it belongs."""

from __future__ import annotations

import hashlib
import math
import random
from bisect import bisect
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate


@dataclass(frozen=True)
class Vaults:
    """``passages`` of each, and the running sum of the shares of calls that go to them: Zipf over their order, which
    has nothing to do with their sizes."""

    passages: list[int]
    cumulated: list[float]

    @property
    def shares(self) -> list[float]:
        return [after - before for before, after in zip([0.0, *self.cumulated], self.cumulated, strict=False)]

    def draw(self, chance: random.Random) -> int:
        return min(bisect(self.cumulated, chance.random()), len(self.passages) - 1)


def make_vaults(count: int, passages: int, exponent: float, seed: int) -> Vaults:
    """Sizes spread as a logarithmic normal distribution, that add up to ``passages`` but for rounding."""
    chance = random.Random(seed)
    sizes = [math.exp(chance.gauss(0.0, 1.5)) for _ in range(count)]
    scale = passages / sum(sizes)
    weights = [1 / rank**exponent for rank in range(1, count + 1)]
    chance.shuffle(sizes)
    cumulated = [reached / sum(weights) for reached in accumulate(weights)]
    return Vaults([max(1, round(size * scale)) for size in sizes], cumulated)


def preferred(vault: int, servers: list[int]) -> int:
    """The server with the highest hash for a vault: who loses one keeps all others where they are."""
    return max(servers, key=lambda server: _hash(vault, server))


@lru_cache(maxsize=2**21)
def _hash(vault: int, server: int) -> bytes:
    return hashlib.blake2b(f"{vault}/{server}".encode(), digest_size=8).digest()
