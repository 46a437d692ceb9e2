"""Changing the key that signs tokens. An old key verifies until the last token it signed has run out, and then goes.

Which key signed a token is not stored: a key signed what was issued between the end of the one before it and its own
end, which stands in ``installation``. A key whose successor is there but whose end nobody wrote, since a kill came in
between or the file was laid there by hand, ends when that is noticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from auth.keys import KeyRing, SigningKey, add_key, remove_key
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import ReadOnly
from vaults.files.failures import disk_failure

_ENDED = "key_ended:"
LATE = timedelta(minutes=1)
"""How much longer another process may sign with a key that has a successor: many times what it takes to notice."""

SPARE = timedelta(hours=1)
"""How long a key stays after its last token has run out: clocks differ."""


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A key and what it is for. ``signs``: new tokens; ``ended_at``: since when it does not, as far as that was written
    down. ``tokens``: how many it signed that are still good; ``needed_until``: when the last of them runs out, None:
    none is left, or one never does. Times are RFC 3339 UTC."""

    key: SigningKey
    signs: bool
    ended_at: str | None
    tokens: int
    needed_until: str | None
    is_spent: bool

    @property
    def state(self) -> Literal["signs", "spent", "verifies"]:
        """What it is for, in a word."""
        return "signs" if self.signs else "spent" if self.is_spent else "verifies"


async def rotate(control: Transactions, ring: KeyRing) -> SigningKey:
    """Make a new key that signs from now on, and remove those that are spent. Raises ``Conflict``, ``ReadOnly``."""
    with _translated():
        made = await asyncio.to_thread(add_key, ring)
    await remove_spent(control, ring)
    return made


async def remove_spent(control: Transactions, ring: KeyRing) -> list[SigningKey]:
    """Remove every key no living token needs; returns these. Raises ``ReadOnly``."""
    if len(ring.keys) < 2:
        return []
    await control.write(lambda tx: note_ends(tx, ring.keys))
    spent = [each.key for each in await control.read(lambda tx: uses_of(tx, ring.keys)) if each.is_spent]
    for key in spent:
        with _translated():
            await asyncio.to_thread(remove_key, ring, key)
        await control.write(partial(_forget, kid=key.kid))
    return spent


def note_ends(tx: Writer, keys: Sequence[SigningKey], now: datetime | None = None) -> None:
    """Write down that every key but the newest signs no more, unless it is known."""
    for key in keys[:-1]:
        tx.run(
            "INSERT INTO installation (key, value) VALUES (:key, :at) ON CONFLICT (key) DO NOTHING",
            {"key": _ENDED + key.kid, "at": _text(now or datetime.now(UTC))},
        )


def uses_of(tx: Reader, keys: Sequence[SigningKey], now: datetime | None = None) -> list[KeyUse]:
    """What each key is for, oldest first."""
    if not keys:
        return []
    at = now or datetime.now(UTC)
    ends = [_end_of(tx, key) for key in keys[:-1]]
    spans = zip([None, *ends], [*ends, None], strict=True)
    return [_use(tx, key, span, at, signs=key is keys[-1]) for key, span in zip(keys, spans, strict=True)]


def _use(tx: Reader, key: SigningKey, span: tuple[str | None, str | None], now: datetime, *, signs: bool) -> KeyUse:
    begin, end = span
    if begin is not None and end is not None and begin > end:
        begin = None  # a clock was ahead when the key before it ended: rather too many tokens count than too few
    row = tx.one(
        "SELECT COUNT(*), MAX(COALESCE(expires_at, '9999')) FROM tokens WHERE revoked_at IS NULL"
        " AND (expires_at IS NULL OR expires_at > :bygone) AND created_at >= :begin AND created_at <= :end",
        {"bygone": _text(now - SPARE), "begin": _shift(begin, -LATE) or "", "end": _shift(end, LATE) or "9999"},
    )
    assert row is not None
    count, last = row
    ended = end is not None and now > datetime.fromisoformat(end) + LATE
    return KeyUse(key, signs, end, count, None if last == "9999" else last, is_spent=ended and not count)


def _end_of(tx: Reader, key: SigningKey) -> str | None:
    found = tx.value("SELECT value FROM installation WHERE key = :key", {"key": _ENDED + key.kid})
    return None if found is None else str(found)


def _forget(tx: Writer, *, kid: str) -> None:
    tx.run("DELETE FROM installation WHERE key = :key", {"key": _ENDED + kid})


def _shift(at: str | None, by: timedelta) -> str | None:
    return None if at is None else _text(datetime.fromisoformat(at) + by)


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise disk_failure(failure) or ReadOnly(
            "the folder of the keys cannot be written", hint="the operator must check its owner and mode"
        ) from failure
