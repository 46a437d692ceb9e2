"""The table ``outside_identities``: which person an identity of a provider is, and whether it may come in.

Nobody is let in by default: the settings name people by verified e-mail or subject, or groups with what their members
may do. That is asked at each sign-in, so who is taken out of both is shut out at the next, with whatever is open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from auth.grants import follow_groups, list_grants
from auth.oauth import client_logins
from auth.one_time import rfc3339
from auth.outside.id_tokens import OutsideIdentity
from auth.people import browser_sessions, people
from auth.principal import LOCAL, NAME_PREFIXES, is_name, local_names
from auth.roles import Role, parse_role
from auth.settings import ProviderSettings
from auth.tokens import has_local_tokens
from vaults.db.sql import Reader, Writer


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who came, and what changed: whether they were made known, and whether their grants are others now."""

    person: str
    is_new: bool
    grants_changed: bool


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """Who is not let in; ``person``: as they were known, if they were."""

    person: str | None


def arrive(writer: Writer, settings: ProviderSettings, identity: OutsideIdentity, now: float) -> Arrival | TurnedAway:
    """Let an identity in as the person it is, and have its grants follow its groups; make it known where the settings
    let it in for the first time."""
    person = find_person(writer, settings.issuer, identity.subject)
    if not _may_come(settings, identity):
        if person is not None:
            shut_out(writer, person, settings.name, now)
        return TurnedAway(person)
    is_new = person is None
    if person is None:
        person = _make_known(writer, settings, identity, now)
    if person is None or not people.is_enabled(writer, person):
        return TurnedAway(person)
    changed = follow_groups(writer, person, settings.name, roles_of(settings, identity))
    writer.run(
        "UPDATE outside_identities SET provider = :provider WHERE person = :person",
        {"provider": settings.name, "person": person},
    )
    return Arrival(person, is_new, changed)


def find_person(reader: Reader, issuer: str, subject: str) -> str | None:
    """The person an identity is."""
    row = reader.one(
        "SELECT person FROM outside_identities WHERE issuer = :issuer AND subject = :subject",
        {"issuer": issuer, "subject": subject},
    )
    return None if row is None else str(row[0])


def forget(writer: Writer, person: str) -> None:
    """Have somebody be of this server alone: their identity elsewhere is theirs no more, nor what its groups gave."""
    provider = people.require(writer, person).provider
    if provider is not None:
        follow_groups(writer, person, provider, {})
        writer.run("DELETE FROM outside_identities WHERE person = :person", {"person": person})


def shut_out(writer: Writer, person: str, source: str, now: float) -> None:
    """End what an identity has open, and the grants of its groups."""
    follow_groups(writer, person, source, {})
    browser_sessions.end_all(writer, person)
    client_logins.end_all_of(writer, person, now, "disabled")


def roles_of(settings: ProviderSettings, identity: OutsideIdentity) -> Mapping[str, Role]:
    """Vault to the highest role that the groups of an identity give there."""
    roles: dict[str, Role] = {}
    for each in settings.grants:
        if each.group in identity.groups:
            role = parse_role(each.role)
            roles[each.vault] = max(role, roles.get(each.vault, role))
    return roles


def _may_come(settings: ProviderSettings, identity: OutsideIdentity) -> bool:
    named = {f"sub:{identity.subject}"}
    if identity.email is not None:
        named.add(f"email:{identity.email}")
    return not named.isdisjoint(settings.people) or any(each.group in identity.groups for each in settings.grants)


def _make_known(writer: Writer, settings: ProviderSettings, identity: OutsideIdentity, now: float) -> str | None:
    """The name of a person made for an identity: no name that anybody has or had here, or its grants would be theirs
    as well. A name that a provider gives to somebody else later is so not inherited."""
    for told in (identity.name, identity.subject):
        name = f"{told}@{settings.name}"
        if told is not None and is_name(name) and _is_free(writer, name):
            people.add(writer, name, now)
            writer.run(
                "INSERT INTO outside_identities (issuer, subject, person, provider, created_at)"
                " VALUES (:issuer, :subject, :person, :provider, :now)",
                {
                    "issuer": settings.issuer,
                    "subject": identity.subject,
                    "person": name,
                    "provider": settings.name,
                    "now": rfc3339(now),
                },
            )
            return name
    return None


def _is_free(reader: Reader, name: str) -> bool:
    held = {each.subject for each in list_grants(reader) if each.issuer == LOCAL}
    is_used = has_local_tokens(reader, name) or not held.isdisjoint(local_names(name))
    return not name.startswith(NAME_PREFIXES) and people.find(reader, name) is None and not is_used
