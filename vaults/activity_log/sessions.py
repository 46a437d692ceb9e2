"""Who calls, as the ledger knows callers, and the session a call belongs to."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from uuid_utils import uuid7

from vaults import clock
from vaults.db.connection import CommitMark

_OWN_HANDLE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)


def is_own_handle(handle: str) -> bool:
    """Whether a handle has the form of those given out here. Anything else is a name its client chose."""
    return _OWN_HANDLE.fullmatch(handle) is not None


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """A caller. ``owner`` is its identity, ``who`` its subject for people, ``connection`` what tells this connection
    from others of the same caller (stdio), ``idle_s`` the seconds without a call after which its session is over."""

    owner: str
    who: str
    client: str | None
    transport: str
    workspace: str
    connection: str
    idle_s: float

    @property
    def name(self) -> str:
        """What its session is known by when it names none."""
        return f"~{self.transport}:{self.connection}:{self.workspace}:{self.client or ''}"


@dataclass(slots=True)
class Session:
    """A session somebody is in. ``id`` is the handle; ``seq`` its row, None until it is written; ``seen`` a reading of
    the monotonic clock and ``seen_at`` the same moment for people, ``mark`` that of the database when the row was last
    looked up."""

    id: str
    owner: str
    name: str
    who: str
    client: str | None
    transport: str
    workspace: str
    idle_s: float
    seq: int | None = None
    completed: bool = False
    started_at: str = field(default_factory=clock.now)
    seen_at: str = field(default_factory=clock.now)
    seen: float = field(default_factory=time.monotonic)
    mark: CommitMark | None = None

    def touch(self) -> None:
        """It made a call."""
        self.seen, self.seen_at = time.monotonic(), clock.now()

    @property
    def idle(self) -> bool:
        """Whether it has been silent for too long to be gone on with unasked."""
        return time.monotonic() - self.seen > self.idle_s


def begin_session(visitor: SessionOwner, name: str) -> Session:
    """A new session."""
    return Session(
        str(uuid7()), visitor.owner, name, visitor.who, visitor.client, visitor.transport, visitor.workspace,
        visitor.idle_s,
    )  # fmt: skip
