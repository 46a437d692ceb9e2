"""The table ``plan_holders``: which vault, and which caller, is on which plan. All others are on the default plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Literal

from auth.principal import Principal
from vaults.db.sql import Reader, Writer
from vaults.errors import NotFound


@dataclass(frozen=True, slots=True)
class PlanHolder:
    """Who is on a plan: a vault by its name, or a subject as in a grant. ``issuer`` is '' for a vault."""

    kind: Literal["vault", "subject"]
    name: str
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class PlanAssignment:
    """One row. ``since`` is RFC 3339 UTC."""

    holder: PlanHolder
    plan: str
    since: str


@dataclass(frozen=True, slots=True)
class PlanHolders:
    """The whole table in memory: ``vaults`` by name, ``subjects`` by issuer and name."""

    vaults: Mapping[str, str]
    subjects: Mapping[str, Mapping[str, str]]

    def plans_of(self, principal: Principal) -> list[str]:
        """The plans that name a caller, itself or one of its groups."""
        subjects = self.subjects.get(principal.issuer)
        if not subjects:
            return []
        return [subjects[name] for name in principal.names if name in subjects]

    def plans(self) -> set[str]:
        """Every plan somebody is on."""
        return {*self.vaults.values(), *(plan for each in self.subjects.values() for plan in each.values())}


NO_HOLDERS = PlanHolders(MappingProxyType({}), MappingProxyType({}))


def load_holders(reader: Reader) -> PlanHolders:
    """Read the table."""
    vaults: dict[str, str] = {}
    subjects: dict[str, dict[str, str]] = {}
    for each in list_plan_assignments(reader):
        if each.holder.kind == "vault":
            vaults[each.holder.name] = each.plan
        else:
            subjects.setdefault(each.holder.issuer, {})[each.holder.name] = each.plan
    return PlanHolders(vaults, subjects)


def set_plan(writer: Writer, holder: PlanHolder, plan: str) -> None:
    """Put a vault or a subject on a plan."""
    writer.run(
        "INSERT INTO plan_holders (kind, name, issuer, plan, since) VALUES (:kind, :name, :issuer, :plan, :since)"
        " ON CONFLICT (kind, name, issuer) DO UPDATE SET plan = excluded.plan, since = excluded.since",
        {
            "kind": holder.kind,
            "name": holder.name,
            "issuer": holder.issuer,
            "plan": plan,
            "since": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    )


def remove_plan(writer: Writer, holder: PlanHolder) -> None:
    """Put a holder back on the default plan. Raises ``NotFound`` if it is there already."""
    gone = writer.run(
        "DELETE FROM plan_holders WHERE kind = :kind AND name = :name AND issuer = :issuer",
        {"kind": holder.kind, "name": holder.name, "issuer": holder.issuer},
    )
    if not gone:
        raise NotFound(f"the {holder.kind} {holder.name} is on the default plan", hint="plan list shows who is not")


def rename_vault(writer: Writer, old: str, new: str) -> None:
    """Have a vault keep its plan under its new name."""
    remove_vault(writer, new)  # left by a vault of that name that is gone
    writer.run("UPDATE plan_holders SET name = :new WHERE kind = 'vault' AND name = :old", {"old": old, "new": new})


def remove_vault(writer: Writer, vault: str) -> None:
    """Forget the plan of a vault that is gone."""
    writer.run("DELETE FROM plan_holders WHERE kind = 'vault' AND name = :vault", {"vault": vault})


def list_plan_assignments(reader: Reader) -> list[PlanAssignment]:
    """Every row: vaults, then subjects, by name."""
    rows = reader.all("SELECT kind, name, issuer, plan, since FROM plan_holders ORDER BY kind DESC, name, issuer")
    return [PlanAssignment(PlanHolder(kind, name, issuer), plan, since) for kind, name, issuer, plan, since in rows]
