"""The keys of memories: how they are stored, found, freed and handed on. Private to who stored under them."""

from __future__ import annotations

from collections.abc import Sequence

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.text.fields import hash_parts

OWNER_LENGTH = 33
"""Characters before the key proper."""

VISIBLE = "(m.visibility = 'shared' OR m.stored_by = :viewer)"


def to_owner_key(actor: Actor, key: str) -> str:
    """A key as it is stored: no two owners' are equal."""
    return f"{hash_parts(actor.identity)}:{key}"


def find_ids(tx: Reader, actor: Actor, keys: Sequence[str]) -> dict[str, str]:
    """The ids of the living memories under the actor's keys, by key."""
    found = {}
    for key in dict.fromkeys(keys):
        memory_id = tx.value(
            f"SELECT m.id FROM memories m WHERE m.owner_key = :key AND {VISIBLE} AND m.archived_at IS NULL"
            " AND m.superseded_by IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)",
            {"key": to_owner_key(actor, key), "viewer": actor.identity, "now": clock.now()},
        )
        if memory_id is not None:
            found[key] = str(memory_id)
    return found


def find_free(tx: Reader, actor: Actor, key: str | None) -> str | None:
    """A key as it is stored, unless there is none or it is taken."""
    if key is None:
        return None
    owner_key = to_owner_key(actor, key)
    return None if tx.one("SELECT 1 FROM memories WHERE owner_key = :key", {"key": owner_key}) else owner_key


def release(tx: Writer, actor: Actor, key: str) -> None:
    """Free a key whose memory its owner cannot see any more: who superseded it made it private."""
    owner_key = to_owner_key(actor, key)
    tx.run("UPDATE memories SET owner_key = NULL WHERE owner_key = :key", {"key": owner_key})


def hand_on(tx: Writer, old_id: str, new_id: str) -> None:
    """Give a memory's key to the one that takes its place, unless that has one."""
    ids = {"old": old_id, "new": new_id}
    key = tx.value("SELECT owner_key FROM memories WHERE id = :old", ids)
    if key is not None:
        tx.run("UPDATE memories SET owner_key = NULL WHERE id = :old", ids)
        tx.run("UPDATE memories SET owner_key = COALESCE(owner_key, :key) WHERE id = :new", {**ids, "key": key})
