"""The table ``grants``: principal × vault × role, the only authority there is.

A grant's subject is plain (``alice``, ``a@b.c``, ``team-a``: matches a subject, a verified e-mail or a group of the
issuer) or pinned to one of these (``sub:…``, ``email:…``, ``group:…``). It counts for one issuer: ``local`` for tokens
issued here, else the issuer's URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from auth.access import EVERY_VAULT
from auth.principal import LOCAL, NAME_PREFIXES, is_name
from auth.roles import Role, parse_role
from vaults.db.sql import Reader, Writer, bind_list
from vaults.errors import InvalidArgument, NotFound


@dataclass(frozen=True, slots=True)
class Grant:
    """``created_at`` is RFC 3339 UTC: when this subject first got a role there. ``source``: the provider whose groups
    it follows; None: somebody gave it."""

    subject: str
    issuer: str
    vault: str
    role: Role
    created_at: str
    source: str | None = None


def check_subject(subject: str) -> str:
    """A grant's subject as it is stored. Raises ``InvalidArgument``."""
    name = subject
    for pin in NAME_PREFIXES:
        if subject.startswith(pin):
            name = subject[len(pin) :]
    if not is_name(name) or name == EVERY_VAULT:
        raise InvalidArgument(
            "subject", "must be a name, an e-mail, a group, or one of these after sub:, email:, group:"
        )
    return subject


def set_grant(writer: Writer, subject: str, issuer: str, vault: str, role: Role) -> None:
    """Give exactly this role, higher or lower than before."""
    writer.run(
        "INSERT INTO grants (subject, issuer, vault, role, created_at) VALUES (:subject, :issuer, :vault, :role, :at)"
        " ON CONFLICT (subject, issuer, vault) DO UPDATE SET role = excluded.role, source = NULL",
        {
            "subject": check_subject(subject),
            "issuer": _check_name(issuer, "issuer"),
            "vault": _check_name(vault, "vault"),
            "role": role.label,
            "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    )


def follow_groups(writer: Writer, person: str, source: str, roles: Mapping[str, Role]) -> bool:
    """Have the grants that somebody of ``local`` has by the groups of a provider be exactly these, vault to role; True
    where that changed something. What somebody gave them stays beside, and the higher counts."""
    subject = f"sub:{person}"
    held = {each.vault: each.role for each in list_grants(writer) if (each.subject, each.source) == (subject, source)}
    if held == roles:
        return False
    writer.run(
        "DELETE FROM grants WHERE subject = :subject AND source = :source", {"subject": subject, "source": source}
    )
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for vault, role in roles.items():
        row = {"subject": check_subject(subject), "issuer": LOCAL, "vault": _check_name(vault, "vault")}
        writer.run(
            "INSERT INTO grants (subject, issuer, vault, role, created_at, source)"
            " VALUES (:subject, :issuer, :vault, :role, :at, :source) ON CONFLICT (subject, issuer, vault) DO NOTHING",
            {**row, "role": role.label, "at": at, "source": source},
        )
    return True


def raise_grant(writer: Writer, subject: str, issuer: str, vault: str, role: Role) -> None:
    """Ensure that the subject has at least this role there; an equal or higher one is left alone, also one on ``*``."""
    rows = writer.all(
        "SELECT role FROM grants WHERE subject = :subject AND issuer = :issuer AND vault IN (:vault, :every)",
        {"subject": subject, "issuer": issuer, "vault": vault, "every": EVERY_VAULT},
    )
    if max((parse_role(held) for (held,) in rows), default=0) < role:
        set_grant(writer, subject, issuer, vault, role)


def remove_grant(writer: Writer, subject: str, issuer: str, vault: str) -> None:
    """Take the grant away. Raises ``NotFound`` when there is none."""
    gone = writer.run(
        "DELETE FROM grants WHERE subject = :subject AND issuer = :issuer AND vault = :vault",
        {"subject": subject, "issuer": issuer, "vault": vault},
    )
    if not gone:
        raise NotFound("there is no such grant", hint="grant list shows subject, issuer and vault of each")


def rename_vault(writer: Writer, old: str, new: str) -> None:
    """Have every grant for ``old`` hold for ``new``, which nobody may have had a grant for."""
    writer.run("DELETE FROM grants WHERE vault = :new", {"new": new})  # left by a vault of that name that is gone
    writer.run("UPDATE grants SET vault = :new WHERE vault = :old", {"old": old, "new": new})


def remove_vault(writer: Writer, vault: str) -> int:
    """Take every grant for a vault away; returns how many there were."""
    return writer.run("DELETE FROM grants WHERE vault = :vault", {"vault": vault})


def list_grants(reader: Reader) -> list[Grant]:
    """Every grant, ordered by subject, issuer, vault."""
    return [_grant(row) for row in reader.all(f"{_SELECT} ORDER BY g.subject, g.issuer, g.vault")]


def grants_of(reader: Reader, subjects: Iterable[str], issuer: str) -> list[Grant]:
    """Every grant of some subjects of one issuer, ordered as ``list_grants``."""
    inside, params = bind_list("subject", sorted(subjects))
    rows = reader.all(
        f"{_SELECT} WHERE g.issuer = :issuer AND g.subject IN ({inside}) ORDER BY g.subject, g.issuer, g.vault",
        {"issuer": issuer, **params},
    )
    return [_grant(row) for row in rows]


def find_grants(reader: Reader, text: str, limit: int, offset: int = 0) -> tuple[list[Grant], int]:
    """Every grant of some of the subjects with this text in their name, ordered as ``list_grants``, and how many such
    subjects there are in all; the same name of two issuers is two."""
    subjects = "SELECT DISTINCT subject, issuer FROM grants WHERE instr(lower(subject), lower(:text)) > 0"
    rows = reader.all(
        f"{_SELECT} JOIN ({subjects} ORDER BY subject, issuer LIMIT :limit OFFSET :offset) shown"
        " ON shown.subject = g.subject AND shown.issuer = g.issuer ORDER BY g.subject, g.issuer, g.vault",
        {"text": text, "limit": limit, "offset": offset},
    )
    found = reader.one(f"SELECT count(*) FROM ({subjects}) AS found", {"text": text})
    return [_grant(row) for row in rows], 0 if found is None else int(found[0])


def list_issuers(reader: Reader) -> list[str]:
    """Of whom there are grants."""
    return [issuer for (issuer,) in reader.all("SELECT DISTINCT issuer FROM grants ORDER BY issuer")]


_SELECT = "SELECT g.subject, g.issuer, g.vault, g.role, g.created_at, g.source FROM grants g"


def _grant(row: tuple[str, ...]) -> Grant:
    subject, issuer, vault, role, created_at, source = row
    return Grant(subject, issuer, vault, parse_role(role), created_at, source)


def default_issuer(subject: str, issuers: Sequence[str], *, has_local_tokens: bool) -> str:
    """The issuer meant when none is named: ``local`` for holders of tokens from here, else the one outside issuer.

    Raises ``InvalidArgument`` listing the issuers when several are configured.
    """
    if has_local_tokens or not issuers:
        return LOCAL
    if len(issuers) > 1:
        raise InvalidArgument("issuer", f"must be named for {subject}: {LOCAL}, {', '.join(issuers)}")
    return issuers[0]


def _check_name(text: str, field: str) -> str:
    if not is_name(text):
        raise InvalidArgument(field, "must be 1 to 255 printable characters without blanks around")
    return text
