"""Feedback on the tools, and the estimate of how often each is the right one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from math import ceil
from typing import Literal

from uuid_utils import uuid7

from vaults import clock
from vaults.activity_log.sessions import Session
from vaults.change_notes import owned_hash
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.text.fields import hash_parts
from vaults.errors import InvalidArgument
from vaults.vault import Vault

FeedbackType = Literal["bug", "feature_request", "friction", "right_tool", "wrong_tool"]

MIN_OBSERVATIONS = 15
"""Observations below which an estimate for a tool would mean nothing."""

MAX_PER_PRINCIPAL = 5
"""Max observations of one principal that count for a tool, where there are enough others."""

PRIOR_CORRECT, PRIOR_TOTAL = 4, 5
"""Prior before any feedback: four of five calls were right."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A piece of feedback. ``call_id`` is the caller's own name for the call it is about."""

    type: FeedbackType
    message: str | None = None
    tool: str | None = None
    call_id: str | None = None


async def record_feedback(vault: Vault, actor: Actor, session: Session, feedback: Feedback) -> str:
    """Store it; returns its id. Raises ``InvalidArgument`` where the tool it needs, or any message, is missing."""
    if feedback.type in ("right_tool", "wrong_tool"):
        if feedback.tool is None:
            raise InvalidArgument("tool", f"is required for {feedback.type}")
    elif feedback.message is None:
        raise InvalidArgument("message", f"is required for {feedback.type}")
    vault.check_writable()
    identity = str(uuid7())
    values = {
        "id": identity, "at": clock.now(), "owner": actor.identity, "who": actor.name,
        "session": await vault.activity_log.ensure_row(session), **asdict(feedback),
    }  # fmt: skip

    def write(tx: Writer) -> None:
        tx.run(
            "INSERT INTO feedback (id, at, owner, who, session, type, message, tool, call_id)"
            " VALUES (:id, :at, :owner, :who, :session, :type, :message, :tool, :call_id)",
            values,
        )
        said = hash_parts(feedback.type, feedback.message, feedback.tool, feedback.call_id)
        tx.note_change("feedback", identity, None, owned_hash(identity, said))

    await vault.db.write(write)
    return identity


def posteriors(tx: Reader) -> dict[str, float]:
    """How likely each tool is the right one where it is used, for tools with enough feedback. One principal counts at
    most ``MAX_PER_PRINCIPAL`` times; with few principals, as often as it takes to reach enough together."""
    people = int(
        tx.value(f"SELECT COUNT(*) FROM (SELECT DISTINCT owner FROM sessions LIMIT {MIN_OBSERVATIONS}) AS some")
    )
    most = max(MAX_PER_PRINCIPAL, ceil(MIN_OBSERVATIONS / max(people, 1)))
    right, totals = defaultdict[str, float](float), Counter[str]()
    for tool, correct, total in tx.all(
        "SELECT tool, SUM(CASE type WHEN 'right_tool' THEN 1 ELSE 0 END), COUNT(*) FROM feedback"
        " WHERE tool IS NOT NULL AND type IN ('right_tool', 'wrong_tool') GROUP BY tool, owner"
    ):
        counted = min(int(total), most)
        right[tool] += int(correct) / int(total) * counted
        totals[tool] += counted
    return {tool: posterior(right[tool], total) for tool, total in totals.items() if total >= MIN_OBSERVATIONS}


def posterior(correct: float, total: int) -> float:
    """The share of right ones, the prior included."""
    return round((PRIOR_CORRECT + correct) / (PRIOR_TOTAL + total), 3)
