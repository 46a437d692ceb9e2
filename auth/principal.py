"""Who is asking: one immutable value, made by an authenticator and never changed after."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from auth.roles import Role

LOCAL = "local"
OWNER_ISSUERS = frozenset({"stdio", "cli", "loopback"})
"""Doors that only the owner of the machine can reach. An outside issuer is a URL and cannot be called so."""

NAME_PREFIXES = ("sub:", "email:", "group:")
"""Prefixes by which a grant says which kind of name it means."""

NAME_LIMIT = 255


def is_name(text: str) -> bool:
    """Whether this can be a subject, e-mail or group: 1 to 255 printable characters, no blanks around.

    Printable leaves out controls, line breaks and lone surrogates: a name ends in log lines and hashes.
    """
    return 0 < len(text) <= NAME_LIMIT and text.isprintable() and text == text.strip()


def principal_key(issuer: str, subject: str) -> str:
    """``Principal.key`` of a caller."""
    return hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller. ``token_*`` and ``scope_role`` only ever take away from what grants give."""

    subject: str
    issuer: str
    names: frozenset[str]  # what a grant of the same issuer may call this caller
    token_id: str | None = None
    token_vaults: frozenset[str] | None = None  # None: no cap; of a token with an id the table ``tokens`` counts
    token_role: Role = Role.ADMIN
    scope_role: Role | None = None  # None: no cap
    preset: str | None = None
    expires_at: float | None = None  # wall-clock seconds since the epoch
    foreign_token_id: str | None = None  # what an outside issuer calls the token: for the audit, nothing rests on it
    lacks_scope: bool = False  # a scope of ours is required and the token has none: it may do nothing at all
    # A hash of issuer and subject: stable, short and free of personal data, for logs, limits and counters.
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", principal_key(self.issuer, self.subject))

    @property
    def is_owner(self) -> bool:
        """Whether this is the person at the machine, who may do everything to every vault."""
        return self.issuer in OWNER_ISSUERS


def owner(door: str) -> Principal:
    """The owner, entering by ``door``: ``stdio``, ``cli``, or ``loopback`` when ``auth.mode`` is ``none``."""
    if door not in OWNER_ISSUERS:
        raise ValueError(f"not a door of the owner: {door}")
    return Principal(subject="owner", issuer=door, names=frozenset())


def local_names(subject: str) -> frozenset[str]:
    """What a grant may call the bearer of a locally issued token."""
    return frozenset({subject, f"sub:{subject}"})


def external_names(subject: str, email: str | None, groups: tuple[str, ...]) -> frozenset[str]:
    """What a grant may call an outside identity; ``email`` only when the issuer says it is verified.

    A plain name that looks pinned is left out: an account named ``group:admins`` must not match a grant to
    that group. Its own pinned form ``sub:group:admins`` remains.
    """
    pinned = {f"sub:{subject}"} | ({f"email:{email}"} if email else set()) | {f"group:{group}" for group in groups}
    plain = {name for name in (subject, email or "", *groups) if name and not name.startswith(NAME_PREFIXES)}
    return frozenset(pinned | plain)
