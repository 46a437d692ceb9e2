"""Programs that people let in, and their end."""

from __future__ import annotations

from auth.oauth import client_logins, consents
from auth.oauth.client_logins import ClientLogin
from vaults.db.sql import Reader, Writer
from vaults.errors import NotFound


def require_login(reader: Reader, login_id: str) -> ClientLogin:
    """The login of this id, over or not. Raises ``NotFound``."""
    login = client_logins.find(reader, login_id)
    if login is None:
        raise NotFound("no program was let in under this id")
    return login


def end_login(writer: Writer, login: ClientLogin, now: float) -> None:
    """End a login with every token of it; the answer its person gave is not filled in again."""
    client_logins.end(writer, login.id, now, "ended")
    consents.forget(writer, login.person, login.client, login.vault)
