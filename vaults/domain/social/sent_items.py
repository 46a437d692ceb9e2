"""What a vault sent: the network's limits on posts and comments, and the guard against posting a thing twice.

A reservation is made in one transaction with the look at what was sent before, so that two calls at once cannot both
pass, whatever process they are in. It outlasts a restart.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from vaults.db.sql import Reader, Writer
from vaults.errors import Conflict, RateLimited

DUPLICATE = "Duplicate post blocked. Similar content was already posted to this submolt."

DEFAULT_SUBMOLT = "general"
"""Where a post goes that names no submolt."""


@dataclass(frozen=True, slots=True)
class SendLimit:
    """At most ``most`` items of a kind within ``window_s`` seconds."""

    kind: Literal["post", "comment"]
    most: int
    window_s: int
    words: str


LIMITS = (
    SendLimit("post", 1, 1800, "one post in 30 minutes"),
    SendLimit("comment", 1, 20, "one comment in 20 seconds"),
    SendLimit("comment", 50, 86_400, "50 comments a day"),
)


def reserve_post(tx: Writer, submolt: str | None, title: str, content: str, now: str) -> int:
    """Record a post that is about to be sent; returns its number. Raises ``Conflict`` for one whose title or content
    was posted to this submolt before, and ``RateLimited``."""
    values = {
        "submolt": _folded(submolt or DEFAULT_SUBMOLT),
        "title": _hash(title),
        "content": _hash(content),
        "now": now,
    }
    if tx.one(
        "SELECT 1 FROM social_sent WHERE kind = 'post' AND submolt = :submolt"
        " AND (title_hash = :title OR content_hash = :content)",
        values,
    ):
        raise Conflict(DUPLICATE)
    _check_limits(tx, "post", now)
    return tx.insert(
        "INSERT INTO social_sent (kind, submolt, title_hash, content_hash, sent_at)"
        " VALUES ('post', :submolt, :title, :content, :now)",
        values,
    )


def reserve_comment(tx: Writer, now: str) -> int:
    """Record a comment that is about to be sent; returns its number. Raises ``RateLimited``."""
    _check_limits(tx, "comment", now)
    day = max(each.window_s for each in LIMITS if each.kind == "comment")
    for seq, sent_at in tx.all("SELECT seq, sent_at FROM social_sent WHERE kind = 'comment' ORDER BY sent_at LIMIT 10"):
        if _seconds_between(sent_at, now) > day:  # no limit asks for it any more
            tx.run("DELETE FROM social_sent WHERE seq = :seq", {"seq": seq})
    return tx.insert("INSERT INTO social_sent (kind, sent_at) VALUES ('comment', :now)", {"now": now})


def take_back(tx: Writer, number: int) -> None:
    """The network refused it: nothing was sent."""
    tx.run("DELETE FROM social_sent WHERE seq = :number", {"number": number})


def _check_limits(tx: Reader, kind: str, now: str) -> None:
    waits = [(_wait_s(tx, each, now), each) for each in LIMITS if each.kind == kind]
    wait, limit = max(waits, key=lambda one: one[0])
    if wait > 0:
        raise RateLimited(f"Moltbook takes {limit.words}: try again in {wait} s", retry_after_s=wait)


def _wait_s(tx: Reader, limit: SendLimit, now: str) -> int:
    """Seconds until one more may be sent. Of items from the future, after the clock was set back, the whole window."""
    at = tx.value(
        "SELECT sent_at FROM social_sent WHERE kind = :kind ORDER BY sent_at DESC LIMIT 1 OFFSET :skipped",
        {"kind": limit.kind, "skipped": limit.most - 1},
    )
    if at is None:
        return 0
    return max(0, min(limit.window_s, math.ceil(limit.window_s - _seconds_between(at, now))))


def _seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _folded(text: str) -> str:
    return text.strip().lower()


def _hash(text: str) -> str:
    return hashlib.sha256(_folded(text).encode("utf-8", "replace")).hexdigest()
