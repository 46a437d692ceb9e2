"""The table ``passkeys``: by which somebody signs in, several for each person. Kept are public keys and counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auth.one_time import rfc3339
from vaults.db.sql import Reader, Writer
from vaults.errors import AlreadyExists, InvalidArgument, QuotaExceeded

MOST = 20
"""Passkeys of one person."""

NAME_LIMIT = 60
"""Characters of a passkey's name."""


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """What a browser made. ``id``: of the credential, base64url; ``public_key``: COSE."""

    id: str
    public_key: bytes
    sign_count: int


@dataclass(frozen=True, slots=True)
class Passkey:
    """Times are RFC 3339 UTC. ``handle``: by which a passkey names its person."""

    id: str
    person: str
    name: str
    public_key: bytes
    sign_count: int
    created_at: str
    used_at: str | None
    handle: str


def add(writer: Writer, person: str, name: str, made: NewPasskey, now: float) -> None:
    """Keep one. Raises ``AlreadyExists`` for a credential that is kept, whoever's it is, and ``QuotaExceeded``."""
    if len(list_passkeys(writer, person)) >= MOST:
        raise QuotaExceeded(f"there are {MOST} passkeys, and no room for more", hint="remove one first")
    added = writer.run(
        "INSERT INTO passkeys (id, person, name, public_key, sign_count, created_at)"
        " VALUES (:id, :person, :name, :key, :count, :at) ON CONFLICT (id) DO NOTHING",
        {
            "id": made.id,
            "person": person,
            "name": readable_name(name, now),
            "key": made.public_key,
            "count": made.sign_count,
            "at": rfc3339(now),
        },
    )
    if not added:
        raise AlreadyExists("this passkey is kept already")


def find(reader: Reader, passkey_id: str) -> Passkey | None:
    """The one of a credential, unless its person is shut out."""
    row = reader.one(f"{_SELECT} WHERE k.id = :id AND p.disabled_at IS NULL", {"id": passkey_id})
    return None if row is None else Passkey(*row)


def list_passkeys(reader: Reader, person: str) -> Sequence[Passkey]:
    """Somebody's, in the order in which they were made."""
    rows = reader.all(f"{_SELECT} WHERE k.person = :person ORDER BY k.created_at, k.id", {"person": person})
    return [Passkey(*row) for row in rows]


def note_use(writer: Writer, passkey_id: str, sign_count: int, now: float) -> bool:
    """Note that one signed somebody in; False, and nothing noted, where its counter did not go on: there is a copy of
    it (WebAuthn §6.1.1). Those that count nothing tell 0 each time."""
    changed = writer.run(
        "UPDATE passkeys SET sign_count = :count, used_at = :at"
        " WHERE id = :id AND (sign_count < :count OR sign_count = 0 AND :count = 0)",
        {"id": passkey_id, "count": sign_count, "at": rfc3339(now)},
    )
    return changed == 1


def remove(writer: Writer, person: str, passkey_id: str) -> bool:
    """Take one of somebody's away; False where they have none of this id. Raises ``InvalidArgument`` for the last way
    in of somebody without a password."""
    mine = {each.id for each in list_passkeys(writer, person)}
    if passkey_id not in mine:
        return False
    password = writer.value("SELECT password FROM people WHERE name = :person", {"person": person})
    if password is None and len(mine) == 1:
        raise InvalidArgument("id", "is your only way in: add another passkey or set a password first")
    writer.run("DELETE FROM passkeys WHERE id = :id", {"id": passkey_id})
    return True


def remove_all(writer: Writer, person: str) -> int:
    """Take all of somebody's away; returns how many there were."""
    return writer.run("DELETE FROM passkeys WHERE person = :person", {"person": person})


def readable_name(name: str, now: float) -> str:
    """A passkey's name as it is kept: what can be printed of it, or the day."""
    clean = "".join(each for each in name if each.isprintable()).strip()[:NAME_LIMIT]
    return clean or f"of {rfc3339(now)[:10]}"


_SELECT = (
    "SELECT k.id, k.person, k.name, k.public_key, k.sign_count, k.created_at, k.used_at, p.handle"
    " FROM passkeys k JOIN people p ON p.name = k.person"
)
