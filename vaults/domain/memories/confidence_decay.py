"""How much of a memory's confidence is left when nobody reads it: computed on reading, never stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.memories.memory_model import Memory
from vaults.durations import parse_duration
from vaults.settings import HygieneSettings


def decay_confidence(confidence: float | None, last_used: str, now: str, settings: HygieneSettings) -> float | None:
    """The confidence at ``now`` of a memory last used at ``last_used``, both stored times. It stands for
    ``hygiene.unread``, then halves every ``hygiene.half_life`` down to ``hygiene.floor``, or to its stored value, if
    that is less. Never more than was stored, whatever the clock does; None stays None. Pure."""
    if confidence is None or confidence <= settings.floor:
        return confidence
    unread_s = (datetime.fromisoformat(now) - datetime.fromisoformat(last_used)).total_seconds()
    fading_s = unread_s - parse_duration(settings.unread)
    if fading_s <= 0:
        return confidence
    half_life_s = max(1, parse_duration(settings.half_life))
    return max(settings.floor, confidence * math.exp2(-fading_s / half_life_s))


def with_current_confidence(
    tx: Reader, found: Sequence[tuple[int, Memory]], settings: HygieneSettings
) -> list[tuple[int, Memory]]:
    """Memories with their ``seq``, each with ``confidence_now`` where that is less than was stored."""
    numbers = [seq for seq, memory in found if memory.confidence is not None]
    if not numbers:
        return list(found)
    used, now = find_last_used(tx, numbers), clock.now()
    current = []
    for seq, memory in found:
        left = decay_confidence(memory.confidence, used.get(seq, memory.created_at), now, settings)
        differs = left is not None and left != memory.confidence
        current.append(
            (seq, replace(memory, confidence_now=round(left, 3)) if differs and left is not None else memory)
        )
    return current


def find_last_used(tx: Reader, numbers: Sequence[int]) -> dict[int, str]:
    """When memories were last read, by ``seq``; those never read are missing."""
    found: dict[int, str] = {}
    for start in range(0, len(numbers), 500):
        some = ", ".join(map(str, numbers[start : start + 500]))
        rows = tx.all(f"SELECT memory, accessed_at FROM memory_accesses WHERE memory IN ({some})")
        found.update((int(seq), used) for seq, used in rows)
    return found


def rank_weights(tx: Reader, numbers: Sequence[int], settings: HygieneSettings) -> dict[int, float]:
    """Weights in ranking of memories whose confidence has faded, by ``seq``: from 1 down to a half, because an old
    answer is still better than none. Those that count in full are missing."""
    some = ", ".join(str(int(seq)) for seq in numbers)
    rows = tx.all(
        "SELECT m.seq, m.confidence, COALESCE(a.accessed_at, m.created_at) FROM memories m"
        f" LEFT JOIN memory_accesses a ON a.memory = m.seq WHERE m.seq IN ({some}) AND m.confidence > 0"
    )
    now, found = clock.now(), {}
    for seq, confidence, used in rows:
        left = decay_confidence(float(confidence), used, now, settings)
        if left is not None and left < confidence:
            found[int(seq)] = 0.5 + 0.5 * left / confidence
    return found
