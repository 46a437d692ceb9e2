"""An application that is imported and made at the first request for it: a server nobody asks for it pays nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from starlette.types import ASGIApp

from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER
from server.http.request_head import Refusal
from server.http.upgraded import say_upgraded
from server.installed_files import look_at_files
from server.services import Services
from vaults.errors import StrongroomError

log = structlog.get_logger("server.http")

SIGN_IN_KEY = "sign-in.key"
"""In the folder of keys: what forms and clients' secrets are derived from."""


class LateApplication:
    """``make`` is called once, with the seal of forms. ``what``: for whom it cannot be made at the moment."""

    def __init__(self, services: Services, what: str, make: Callable[[bytes], Awaitable[ASGIApp]]) -> None:
        self._services, self._what, self._make = services, what, make
        self._files = look_at_files()
        self._application: ASGIApp | None = None
        self._one_at_a_time = asyncio.Lock()

    async def open(self) -> ASGIApp:
        """The application; or, where the files it would be made from are not those this server was started from, the
        one that says so. Raises ``Refusal`` where its key cannot be read."""
        async with self._one_at_a_time:
            if self._application is None:
                if await asyncio.to_thread(look_at_files) != self._files:
                    return say_upgraded
                try:
                    self._application = await self._make(await self._open_seal())
                except (ImportError, SyntaxError):  # replaced in this very moment, or elsewhere
                    log.exception("not_imported", what=self._what)
                    return say_upgraded
                except (StrongroomError, OSError):
                    message = f"{self._what} cannot read its key at the moment"
                    raise Refusal(503, "vault_unavailable", message, reason="vault_unavailable") from None
            return self._application

    async def _open_seal(self) -> bytes:
        services = self._services
        passphrase = services.settings.auth.key_passphrase_file
        return await asyncio.to_thread(open_secret, services.data / KEYS_FOLDER, SIGN_IN_KEY, passphrase)
