"""What one entry of the audit says, and its text, which is hashed.

Never content, titles or queries: who, when, which tool and action, ids and paths, and hashes of what changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vaults import clock
from vaults.context import ChangeNote

EntryKind = Literal["call", "act", "heads"]
"""A tool call; something an operator or the server did; where the chains of vaults stood."""

MAX_TARGETS = 50
MAX_NAME = 255
"""Characters of an id, a path or a label at most."""


@dataclass(frozen=True, slots=True)
class AuditActor:
    """Who did it. ``subject`` and ``issuer`` as the token says; ``key`` stands for both in logs. ``user``: of the
    operating system, where the caller is the owner of the machine. ``role``: what it was allowed then."""

    subject: str
    issuer: str
    key: str | None = None
    user: str | None = None
    token_id: str | None = None
    role: str | None = None
    session: str | None = None
    client: str | None = None
    address: str | None = None
    transport: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry before it gets its number. ``consent``: which rule asked for a person, and who agreed. ``details``:
    what an act was about, such as the role that was granted."""

    kind: EntryKind
    tool: str
    outcome: str
    actor: AuditActor | None = None
    action: str | None = None
    vault: str | None = None
    consent: Mapping[str, str] | None = None
    targets: Sequence[str] = ()
    shown: Sequence[str] = ()
    changes: Sequence[ChangeNote] = ()
    changed: int = 0  # in all
    changes_digest: str | None = None  # of all, where not all are listed
    details: Mapping[str, Any] | None = None
    at: str = field(default_factory=clock.now)


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One entry of a chain. ``body``: what it says, as it was hashed."""

    seq: int
    at: int  # milliseconds since 1970
    body: str
    hash: bytes

    def fields(self) -> dict[str, Any]:
        """What it says, by field. Raises ``ValueError`` for a body that is no JSON object."""
        found = json.loads(self.body)
        if not isinstance(found, dict):
            raise ValueError("no object")  # noqa: TRY004  as for any other text that is none
        return found


_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def to_body(seq: int, entry: AuditEntry) -> str:
    """The text of an entry: number and time first, empty fields left out."""
    said: dict[str, Any] = {"seq": seq, "at": entry.at, "kind": entry.kind}
    if entry.actor is not None:
        said |= _describe(entry.actor)
    said |= {
        "vault": entry.vault,
        "tool": entry.tool,
        "action": entry.action,
        "outcome": entry.outcome,
        "consent": entry.consent,
        "targets": entry.targets,
        "shown": entry.shown,
        "changes": [[each.kind, each.id, each.before, each.after] for each in entry.changes],
        "details": entry.details,
    }
    if entry.changed > len(entry.changes):
        said |= {"changed": entry.changed, "changes_digest": entry.changes_digest}
    return _encode({name: value for name, value in said.items() if value})


def _describe(actor: AuditActor) -> dict[str, Any]:
    said = {
        "subject": actor.subject,
        "issuer": actor.issuer,
        "principal": actor.key,
        "user": actor.user,
        "token": actor.token_id,
        "role": actor.role,
        "session": actor.session,
        "client": actor.client,
        "address": actor.address,
        "transport": actor.transport,
    }
    return {name: value[:MAX_NAME] for name, value in said.items() if value}


def body_start(seq: int) -> str:
    """What the text of the entry with this number begins with."""
    return f'{{"seq":{seq},"at":"'


def to_milliseconds(at: str) -> int:
    """A stored moment as milliseconds since 1970."""
    return round(clock.seconds_since_1970(at) * 1000)


def ids_in(fields: Mapping[str, Any]) -> set[str]:
    """Every id and path that an entry names."""
    found = {each for name in ("targets", "shown") for each in fields.get(name, ())}
    return found | {each[1] for each in fields.get("changes", ())}
