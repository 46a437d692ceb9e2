"""What one entry of the audit says, and its text, which is hashed.

Never content, titles or queries: who, when, which tool and action, ids and paths, and hashes of what changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ops.audit.content_hashes import HashKey
from vaults import clock
from vaults.change_notes import ChangeNote

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
        """What it says, by field. Raises ``ValueError`` for a body that the server did not write."""
        try:
            found = json.loads(self.body)
        except RecursionError as failure:
            raise ValueError("nested too deep") from failure
        if not _has_shape(found):
            raise ValueError("no entry")
        return dict(found)


def _has_shape(found: Any) -> bool:
    """Whether a body reads as one of ours. Whoever can write the file may have put anything there."""
    return (
        isinstance(found, dict)
        and "at" in found
        and "outcome" in found
        and all(isinstance(value, _SHAPES.get(name, str)) for name, value in found.items())
        and all(_is_list_of_texts(found[name]) for name in ("targets", "shown") if name in found)
        and all(_is_change(each) for each in found.get("changes", ()))
    )


_SHAPES: Mapping[str, type] = {
    "seq": int, "targets": list, "shown": list, "changes": list, "changed": int, "consent": dict, "details": dict,
}  # fmt: skip
"""What a field is that is no text."""


def _is_list_of_texts(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _is_change(value: Any) -> bool:
    match value:
        case [str(), str(), str() | None, str() | None]:
            return True
    return False


class EntryText(NamedTuple):
    """What an entry says, all but its number; ``at``: when, in milliseconds since 1970."""

    at: int
    text: str


_quote = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def to_text(entry: AuditEntry, key: HashKey) -> EntryText:
    """The text of an entry: the time first, empty fields left out, hashes of content keyed. Put together by hand, of
    parts that come again and again: making an encoder for each call takes longer than all the rest."""
    actor = "" if entry.actor is None else _describe(entry.actor)
    said = f'"at":"{entry.at}","kind":"{entry.kind}"{actor}'
    said += _describe_call(entry.vault, entry.tool, entry.action, entry.outcome)
    if entry.consent:
        said += f',"consent":{_encode(entry.consent)}'
    for name, ids in (("targets", entry.targets), ("shown", entry.shown)):
        if ids:
            said += f',"{name}":[{",".join(map(_quote, ids))}]'
    if entry.changes:
        said += f',"changes":[{",".join([_describe_change(each, key) for each in entry.changes])}]'
    if entry.details:
        said += f',"details":{_encode(entry.details)}'
    if entry.changed > len(entry.changes):
        said += f',"changed":{entry.changed},"changes_digest":{_quote(key.apply(entry.changes_digest or ""))}'
    return EntryText(to_milliseconds(entry.at), f"{said}}}")


def to_body(seq: int, text: EntryText) -> str:
    """The text of an entry as it is hashed: its number first."""
    return f'{{"seq":{seq},{text.text}'


def _describe_change(change: ChangeNote, key: HashKey) -> str:
    said = (change.kind, key.conceal(change.id), key.conceal(change.before), key.conceal(change.after))
    return f"[{','.join(['null' if each is None else _quote(each) for each in said])}]"


@lru_cache(maxsize=512)
def _describe_call(vault: str | None, tool: str, action: str | None, outcome: str) -> str:
    said = {"vault": vault, "tool": tool, "action": action, "outcome": outcome}
    return "".join(f',"{name}":{_quote(value)}' for name, value in said.items() if value)


@lru_cache(maxsize=512)
def _describe(actor: AuditActor) -> str:
    """An actor as fields; the same ones call again and again."""
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
    return "".join(f',"{name}":{_quote(value[:MAX_NAME])}' for name, value in said.items() if value)


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
