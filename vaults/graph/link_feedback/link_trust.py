"""What people think of links to an entity, by folder: how often suggestions of it are accepted, and where they are not
wanted any more.

Each entity has a Beta posterior per folder, with a prior of four good links of five. For the vault as a whole (folder
'') it counts all observations, those in a folder by half; for a folder, the prior is the mean of the rest of the vault,
and what was observed there counts. Nobody can flood it: one principal's word about an entity in a folder counts once a
day for each verdict and, if others work in the vault too, never more than two observations in all.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.files.paths import parent_folder

GOOD, BAD = 4.0, 1.0
"""Good and bad observations of the prior."""

PRIOR_MEAN = GOOD / (GOOD + BAD)

MIN_OBSERVATIONS = 4.0
"""Observations needed before an entity is suppressed by what was learned."""

SUPPRESS, LIFT = 0.45, 0.55
"""Means of a posterior: below the first an entity is suppressed, from the second on no longer."""

AFAR_WEIGHT = 0.5
"""Weight of an observation in one folder for the vault as a whole, and so for other folders."""

MAX_PER_PRINCIPAL = 2.0
"""Observations of one principal that count, for and against each, if it is not alone in the vault."""

MAX_POINTS = 5.0
"""Points for an entity whose links are all kept; as many against one that is about to be suppressed."""

MAX_OBSERVATIONS = 5000
"""Newest observations of an entity that are read."""

SERVER_PRINCIPAL = "strongroom"
"""The principal of what the vault does by itself."""

LinkVerdict = Literal["accepted", "rejected", "removed", "kept"]

WEIGHTS: Mapping[str, float] = {"accepted": 1.0, "rejected": 1.0, "removed": 1.0, "kept": 0.5}
_POSITIVE = frozenset({"accepted", "kept"})


@dataclass(frozen=True, slots=True)
class Observation:
    """What became of one link or suggestion."""

    who: str  # the principal
    entity: str  # key of a name
    path: str  # of the note that holds the link
    verdict: LinkVerdict
    term: str | None = None  # the words it was on


@dataclass(frozen=True, slots=True)
class FolderTrust:
    """For the notes of one folder: keys of entities not to suggest, and points from -5 to 5 for those of which
    something is known."""

    suppressed: frozenset[str]
    points: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Suppression:
    """``folder`` '': anywhere; ``learned``: nobody said so, but links there were refused too often."""

    entity: str
    folder: str
    at: str
    learned: bool


def read_trust(tx: Reader, folder: str) -> FolderTrust:
    """What was learned that applies to a folder ('': the vault's own). For each entity, the nearest folder upwards with
    a posterior decides."""
    places = list_ancestors(folder)
    within, params = "folder IN (SELECT value FROM json_each(:places))", {"places": json.dumps(places)}
    suppressed = tx.all(f"SELECT entity FROM link_suppressions WHERE {within}", params)
    known = tx.all(f"SELECT entity, mean FROM link_trust WHERE {within} ORDER BY length(folder)", params)
    nearest = {entity: float(mean) for entity, mean in known}
    return FolderTrust(
        frozenset(row[0] for row in suppressed), {entity: to_points(mean) for entity, mean in nearest.items()}
    )


def read_mean(tx: Reader, entity: str, folder: str) -> float:
    """How often links to an entity are agreed with in a folder, 0 to 1; chosen as in ``read_trust``."""
    for place in list_ancestors(folder):
        mean = "SELECT mean FROM link_trust WHERE entity = :entity AND folder = :folder"
        found = tx.value(mean, {"entity": entity, "folder": place})
        if found is not None:
            return float(found)
    return PRIOR_MEAN


def read_suppressions(tx: Reader, entity: str | None = None, limit: int = 100) -> list[Suppression]:
    """Suppressions of one entity or of all, newest first."""
    where = "TRUE" if entity is None else "entity = :entity"
    rows = tx.all(
        f"SELECT folder, entity, at, who FROM link_suppressions WHERE {where}"
        " ORDER BY at DESC, entity, folder LIMIT :limit",
        {"entity": entity, "limit": limit},
    )
    return [Suppression(of, folder, at, who is None) for folder, of, at, who in rows]


def list_ancestors(folder: str) -> list[str]:
    """A folder and all above it, the vault's own last."""
    found = [folder]
    while found[-1]:
        found.append(parent_folder(found[-1]))
    return found


def to_points(mean: float) -> float:
    """The points that a posterior's mean gives a suggestion: 0 for the prior."""
    reach = 1 - PRIOR_MEAN if mean > PRIOR_MEAN else PRIOR_MEAN - SUPPRESS
    return round(max(-MAX_POINTS, min(MAX_POINTS, MAX_POINTS * (mean - PRIOR_MEAN) / reach)), 2)


def observe(tx: Writer, observations: Iterable[Observation]) -> int:
    """Learn from what became of links. Returns how many observations count."""
    counted: set[str] = set()
    number, now = 0, clock.now()
    for each in observations:
        folder = parent_folder(each.path)
        of = {"entity": each.entity, "folder": folder, "who": each.who, "verdict": each.verdict, "day": now[:10]}
        repeated = (
            "SELECT 1 FROM link_feedback WHERE entity = :entity AND folder = :folder AND who = :who"
            " AND verdict = :verdict AND at >= :day LIMIT 1"
        )
        if tx.one(repeated, of) is not None:
            continue
        _write_observation(tx, each, folder, WEIGHTS[each.verdict])
        counted.add(each.entity)
        number += 1
    for entity in counted:
        learn_entity(tx, entity)
    return number


def _write_observation(tx: Writer, each: Observation, folder: str, weight: float, verdict: str | None = None) -> None:
    tx.run(
        "INSERT INTO link_feedback (at, who, entity, folder, path, term, verdict, weight)"
        " VALUES (:at, :who, :entity, :folder, :path, :term, :verdict, :weight)",
        {
            "at": clock.now(), "who": each.who, "entity": each.entity, "folder": folder, "path": each.path,
            "term": each.term, "verdict": verdict or each.verdict, "weight": weight,
        },
    )  # fmt: skip


def suppress(tx: Writer, who: str, entity: str, folder: str) -> bool:
    """Stop suggesting an entity in a folder and below, because a person says so. False if that was said before."""
    row = {"entity": entity, "folder": folder, "at": clock.now(), "who": who}
    same = tx.one("SELECT who FROM link_suppressions WHERE entity = :entity AND folder = :folder", row)
    if same is not None and same[0] is not None:
        return False
    tx.run(
        "INSERT INTO link_suppressions (entity, folder, at, who) VALUES (:entity, :folder, :at, :who)"
        " ON CONFLICT (entity, folder) DO UPDATE SET at = excluded.at, who = excluded.who",
        row,
    )
    _write_observation(tx, Observation(who, entity, "", "rejected"), folder, 0.0, "suppressed")
    return True


def unsuppress(tx: Writer, who: str, entity: str, folder: str) -> bool:
    """Suggest an entity again in a folder; False if it was not suppressed in exactly that one. Earlier observations
    there no longer count, so that it is learned afresh."""
    where = {"entity": entity, "folder": folder}
    if not tx.run("DELETE FROM link_suppressions WHERE entity = :entity AND folder = :folder", where):
        return False
    _write_observation(tx, Observation(who, entity, "", "accepted"), folder, 0.0, "pardoned")
    learn_entity(tx, entity)
    return True


def learn_entity(tx: Writer, entity: str) -> None:
    """Recompute the posteriors of an entity, and where it is suppressed because of them."""
    found = _read_posteriors(tx, entity)
    tx.run("DELETE FROM link_trust WHERE entity = :entity", {"entity": entity})
    tx.many(
        "INSERT INTO link_trust (entity, folder, mean, weight) VALUES (:entity, :folder, :mean, :weight)",
        [
            {"entity": entity, "folder": folder, "mean": each.mean, "weight": each.weight}
            for folder, each in found.items()
        ],
    )
    suppressed = {
        row[0] for row in tx.all("SELECT folder FROM link_suppressions WHERE entity = :entity", {"entity": entity})
    }
    learned = tx.all("SELECT folder FROM link_suppressions WHERE entity = :entity AND who IS NULL", {"entity": entity})
    lifted = [folder for (folder,) in learned if folder not in found or found[folder].mean >= LIFT]
    tx.many(
        "DELETE FROM link_suppressions WHERE entity = :entity AND folder = :folder",
        [{"entity": entity, "folder": each} for each in lifted],
    )
    now = clock.now()
    tx.many(
        "INSERT INTO link_suppressions (entity, folder, at, who) VALUES (:entity, :folder, :at, NULL)",
        [
            {"entity": entity, "folder": folder, "at": now}
            for folder, each in found.items()
            if each.is_unwanted and folder not in suppressed
        ],
    )


@dataclass(frozen=True, slots=True)
class _Posterior:
    """What is thought of an entity. ``spread``: it may suppress, because it rests on the folder's own notes or, for the
    whole vault, on more than one folder."""

    mean: float
    weight: float
    spread: bool = True

    @property
    def is_unwanted(self) -> bool:
        return self.spread and self.weight >= MIN_OBSERVATIONS and self.mean < SUPPRESS


VerdictTally = dict[tuple[str, bool], float]
"""Observations by principal, for and against."""


def _read_posteriors(tx: Reader, entity: str) -> dict[str, _Posterior]:
    """The posteriors of an entity for the vault as a whole ('') and for each folder with observations."""
    seen = _read_observed(tx, entity)
    if not seen:
        return {"": _to_posterior((0.0, 0.0))}  # all was pardoned; the row shows that it was computed
    alone = len({who for tally in seen.values() for who, _ in tally} - {SERVER_PRINCIPAL}) <= 1 and _has_one_principal(
        tx
    )
    near, afar = seen.pop("", None), _add_tallies(seen.values())
    ours = _sum_weights(near or {}, alone=alone)
    found = {
        "": _to_posterior(_combine(ours, _sum_weights(afar, alone=alone)), spread=near is not None or len(seen) > 1)
    }
    everyone = _sum_weights(afar, alone=alone)
    for folder, tally in seen.items():
        with_it = _sum_weights({of: afar[of] for of in tally}, alone=alone)
        without = _sum_weights({of: afar[of] - weight for of, weight in tally.items()}, alone=alone)
        rest = everyone[0] - with_it[0] + without[0], everyone[1] - with_it[1] + without[1]
        found[folder] = _to_posterior(_sum_weights(tally, alone=alone), _to_posterior(_combine(ours, rest)).mean)
    return found


def _combine(near: tuple[float, float], afar: tuple[float, float]) -> tuple[float, float]:
    return near[0] + AFAR_WEIGHT * afar[0], near[1] + AFAR_WEIGHT * afar[1]


def _to_posterior(observed: tuple[float, float], start: float = PRIOR_MEAN, *, spread: bool = True) -> _Posterior:
    good, weight = observed[0], sum(observed)
    return _Posterior((start * (GOOD + BAD) + good) / (GOOD + BAD + weight), weight, spread)


def _add_tallies(tallies: Iterable[VerdictTally]) -> VerdictTally:
    total: VerdictTally = defaultdict(float)
    for tally in tallies:
        for of, weight in tally.items():
            total[of] += weight
    return total


def _sum_weights(tally: VerdictTally, *, alone: bool) -> tuple[float, float]:
    """Weights for and against, each principal's capped."""
    counted = {
        of: weight if alone or of[0] == SERVER_PRINCIPAL else min(weight, MAX_PER_PRINCIPAL)
        for of, weight in tally.items()
    }
    good = sum(weight for (_, agreed), weight in counted.items() if agreed)
    return good, sum(counted.values()) - good


def _read_observed(tx: Reader, entity: str) -> dict[str, VerdictTally]:
    """Observations by folder, since its last pardon."""
    rows = tx.all(
        "SELECT folder, who, verdict, weight FROM link_feedback WHERE entity = :entity ORDER BY seq DESC LIMIT :limit",
        {"entity": entity, "limit": MAX_OBSERVATIONS},
    )
    found: dict[str, VerdictTally] = defaultdict(lambda: defaultdict(float))
    pardoned: set[str] = set()
    for folder, who, verdict, weight in rows:
        if verdict == "pardoned":
            pardoned.add(folder)
        elif verdict in WEIGHTS and not pardoned & {"", folder}:
            found[folder][who, verdict in _POSITIVE] += float(weight)
    return found


def _has_one_principal(tx: Reader) -> bool:
    """Whether at most one principal edits notes and judges links here: then all links are its own."""
    return len(_read_two_principals(tx, "note_changes") | _read_two_principals(tx, "link_feedback")) <= 1


def _read_two_principals(tx: Reader, table: str) -> set[str]:
    """Up to two principals that a table names."""
    person = f"SELECT who FROM {table} WHERE who <> :server"
    first = tx.value(f"{person} LIMIT 1", {"server": SERVER_PRINCIPAL})
    other = tx.value(f"{person} AND who <> :first LIMIT 1", {"server": SERVER_PRINCIPAL, "first": first})
    return {each for each in (first, other) if each is not None}


def needs_relearning(tx: Reader) -> bool:
    """Whether the posteriors are missing although there are observations."""
    some = tx.one("SELECT 1 FROM link_feedback WHERE weight > 0 LIMIT 1")
    return some is not None and tx.one("SELECT 1 FROM link_trust LIMIT 1") is None


def relearn(tx: Writer) -> None:
    """Recompute the posteriors of all entities."""
    for (entity,) in tx.all("SELECT DISTINCT entity FROM link_feedback"):
        learn_entity(tx, entity)
