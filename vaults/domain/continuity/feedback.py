"""What callers say of the tools, and how far a tool is the right one by that."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import ceil
from typing import Literal

from uuid_utils import uuid7

from vaults import clock
from vaults.activity_log.sessions import Session
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.errors import InvalidArgument
from vaults.vault import Vault

FeedbackType = Literal["bug", "feature_request", "friction", "right_tool", "wrong_tool"]

MIN_OBSERVATIONS = 15
"""What fewer say of a tool says nothing."""

MAX_PER_PRINCIPAL = 5
"""What one principal says of a tool counts as often at most, where there are enough others."""

PRIOR_CORRECT, PRIOR_TOTAL = 4, 5
"""What is taken to have been said before anybody did: four of five were right."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """Something said. ``call_id`` is the caller's own name of the call it is about."""

    type: FeedbackType
    message: str | None = None
    tool: str | None = None
    call_id: str | None = None


async def record_feedback(vault: Vault, actor: Actor, session: Session, said: Feedback) -> str:
    """Keep it; returns its id. Raises ``InvalidArgument`` where it does not say which tool, or nothing at all."""
    if said.type in ("right_tool", "wrong_tool"):
        if said.tool is None:
            raise InvalidArgument("tool", f"is required for {said.type}")
    elif said.message is None:
        raise InvalidArgument("message", f"is required for {said.type}")
    vault.check_writable()
    identity, row = str(uuid7()), await vault.activity_log.row(session)
    values = (identity, clock.now(), actor.identity, actor.name, row, said.type, said.message, said.tool, said.call_id)

    def write(tx: Writer) -> None:
        tx.run(
            "INSERT INTO feedback (id, at, owner, who, session, type, message, tool, call_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )

    await vault.db.write(write)
    return identity


def posteriors(tx: Reader) -> dict[str, float]:
    """How likely each tool is the right one where it is used, of those that enough was said of. However often one
    principal says a thing, it counts for ``MAX_PER_PRINCIPAL``; in a vault of fewer, for as much as makes enough
    together."""
    people = int(
        tx.value(f"SELECT COUNT(*) FROM (SELECT DISTINCT owner FROM sessions LIMIT {MIN_OBSERVATIONS}) AS some")
    )
    most = max(MAX_PER_PRINCIPAL, ceil(MIN_OBSERVATIONS / max(people, 1)))
    right, said = defaultdict[str, float](float), Counter[str]()
    for tool, correct, total in tx.all(
        "SELECT tool, SUM(CASE type WHEN 'right_tool' THEN 1 ELSE 0 END), COUNT(*) FROM feedback"
        " WHERE tool IS NOT NULL AND type IN ('right_tool', 'wrong_tool') GROUP BY tool, owner"
    ):
        counted = min(int(total), most)
        right[tool] += int(correct) / int(total) * counted
        said[tool] += counted
    return {tool: posterior(right[tool], total) for tool, total in said.items() if total >= MIN_OBSERVATIONS}


def posterior(correct: float, total: int) -> float:
    """The share that is right, of what was said and of what is taken for said."""
    return round((PRIOR_CORRECT + correct) / (PRIOR_TOTAL + total), 3)
