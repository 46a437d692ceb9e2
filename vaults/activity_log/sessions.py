"""Who calls, as the activity log sees it, and the session a call belongs to."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from uuid_utils import uuid7

from vaults import clock
from vaults.db.connection import CommitMark

_OWN_HANDLE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)


def is_own_handle(handle: str) -> bool:
    """Whether a handle has the form of those given out here. Anything else is a name the client chose."""
    return _OWN_HANDLE.fullmatch(handle) is not None


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """A caller, as the owner of sessions."""

    identity: str
    who: str
    """Its subject, as people read it."""
    client: str | None
    transport: str
    workspace: str
    connection: str
    """Tells this connection from others of the same caller (stdio)."""
    idle_s: float
    """Seconds without a call after which its session is over."""

    @property
    def name(self) -> str:
        """The name of its session when it gives none."""
        return f"~{self.transport}:{self.connection}:{self.workspace}:{self.client or ''}"


@dataclass(slots=True)
class Session:
    """A session in use."""

    id: str
    """The handle."""
    owner: str
    name: str
    who: str
    client: str | None
    transport: str
    workspace: str
    idle_s: float
    seq: int | None = None
    """Its row number; None until it is written."""
    completed: bool = False
    started_at: str = field(default_factory=clock.now)
    seen_at: str = field(default_factory=clock.now)
    seen: float = field(default_factory=time.monotonic)
    """The moment ``seen_at``, by the monotonic clock."""
    mark: CommitMark | None = None
    """The database's mark when the row was last looked up."""

    def touch(self) -> None:
        """Record that it made a call just now."""
        self.seen, self.seen_at = time.monotonic(), clock.now()

    @property
    def idle(self) -> bool:
        """Whether it has been silent for too long to be continued by a call that does not name it."""
        return time.monotonic() - self.seen > self.idle_s


def begin_session(owner: SessionOwner, name: str) -> Session:
    """A new session."""
    return Session(
        id=str(uuid7()),
        owner=owner.identity,
        name=name,
        who=owner.who,
        client=owner.client,
        transport=owner.transport,
        workspace=owner.workspace,
        idle_s=owner.idle_s,
    )
