"""How the drills of vaults went, and whose turn it is: rows of the table ``installation``, one for each vault.

A vault is claimed before its drill begins. So one that takes the server down with it is not tried again at once by the
next, and no drill is begun twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, ValidationError

from vaults import clock
from vaults.db.sql import Reader, Writer

KEY = "drill:"
"""Before the id of the vault."""

BEGUN, PASSED, FAILED, NO_BACKUP = "begun", "ok", "failed", "no_backup"

RETRY_S = 6 * 3600
"""Seconds after which a drill that did not pass is held again, if it would not be due sooner."""


class DrillRecord(BaseModel):
    """``since``: when the vault was first due; ``tried`` and ``passed``: when last; ``outcome``: of the last try:
    begun, ok, failed, no_backup, or the code of what kept it from being held; ``backup``: the one that passed last."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    since: str
    tried: str
    outcome: str
    passed: str | None = None
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class DrillStanding:
    """``failing``: vaults whose last drill did not pass; ``age_s``: seconds since the last that passed, of the vault
    where it is longest ago."""

    failing: int
    age_s: float


def read_all(tx: Reader, vault_ids: Iterable[str]) -> dict[str, DrillRecord]:
    """What is known of these vaults."""
    rows = tx.all("SELECT key, value FROM installation WHERE key LIKE 'drill:%'")
    stored = {str(key).removeprefix(KEY): str(value) for key, value in rows}
    return {id_: found for id_ in vault_ids if (found := _parse(stored.get(id_))) is not None}


def claim(tx: Writer, vault_ids: Iterable[str], every_s: float) -> str | None:
    """The vault whose turn it is, which counts as begun from now on; None where no drill is due. Who waits longest
    comes first. Forgets vaults that are gone."""
    ids = list(vault_ids)
    known, now = read_all(tx, ids), clock.now()
    _forget_others(tx, ids)
    due = sorted((known[id_].tried if id_ in known else "", id_) for id_ in ids if _is_due(known.get(id_), every_s))
    if not due:
        return None
    _, vault_id = due[0]
    before = known.get(vault_id)
    begun = DrillRecord(since=now, tried=now, outcome=BEGUN)
    _store(tx, vault_id, before.model_copy(update={"tried": now, "outcome": BEGUN}) if before else begun)
    return vault_id


def record(tx: Writer, vault_id: str, outcome: str, backup: str | None = None) -> None:
    """Write down how the drill of a vault went, or that it began; ``backup``: the name of the one that was drilled."""
    now = clock.now()
    before = read_all(tx, [vault_id]).get(vault_id) or DrillRecord(since=now, tried=now, outcome=outcome)
    passed = {"passed": now, "backup": backup} if outcome == PASSED else {}
    _store(tx, vault_id, before.model_copy(update={"tried": now, "outcome": outcome, **passed}))


def summarise(records: Mapping[str, DrillRecord]) -> DrillStanding:
    """All of them in two numbers. A vault without any backup is the concern of backups."""
    held = [each for each in records.values() if each.outcome != NO_BACKUP]
    ages = [_age_s(each.passed or each.since) for each in held]
    return DrillStanding(sum(each.outcome not in (PASSED, BEGUN) for each in held), max(ages, default=0.0))


def _is_due(known: DrillRecord | None, every_s: float) -> bool:
    """Also where the last try lies in the future, because the clock was set back."""
    if known is None:
        return True
    wait = every_s if known.outcome == PASSED else min(every_s, RETRY_S)
    return not 0 <= _age_s(known.tried) < wait


def _age_s(moment: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()


def _parse(stored: str | None) -> DrillRecord | None:
    try:
        return DrillRecord.model_validate_json(stored) if stored else None
    except ValidationError:
        return None


def _store(tx: Writer, vault_id: str, value: DrillRecord) -> None:
    tx.run(
        "INSERT INTO installation (key, value) VALUES (:key, :value)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"key": f"{KEY}{vault_id}", "value": value.model_dump_json()},
    )


def _forget_others(tx: Writer, vault_ids: Iterable[str]) -> None:
    kept = {f"{KEY}{each}" for each in vault_ids}
    for (key,) in tx.all("SELECT key FROM installation WHERE key LIKE 'drill:%'"):
        if key not in kept:
            tx.run("DELETE FROM installation WHERE key = :key", {"key": key})
