"""An application that is imported and made at the first request for it: a server nobody asks for it pays nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp

from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER
from server.http.request_head import Refusal
from server.services import Services
from vaults.errors import StrongroomError

SIGN_IN_KEY = "sign-in.key"
"""In the folder of keys: what forms and clients' secrets are derived from."""


class LateApplication:
    """``make`` is called once, with the seal of forms. ``what``: for whom it cannot be made at the moment."""

    def __init__(self, services: Services, what: str, make: Callable[[bytes], Awaitable[ASGIApp]]) -> None:
        self._services, self._what, self._make = services, what, make
        self._application: ASGIApp | None = None
        self._one_at_a_time = asyncio.Lock()

    async def open(self) -> ASGIApp:
        """The application. Raises ``Refusal`` where its key cannot be read."""
        async with self._one_at_a_time:
            if self._application is None:
                try:
                    self._application = await self._make(await self._open_seal())
                except (StrongroomError, OSError):
                    message = f"{self._what} cannot read its key at the moment"
                    raise Refusal(503, "vault_unavailable", message, reason="vault_unavailable") from None
            return self._application

    async def _open_seal(self) -> bytes:
        services = self._services
        passphrase = services.settings.auth.key_passphrase_file
        return await asyncio.to_thread(open_secret, services.data / KEYS_FOLDER, SIGN_IN_KEY, passphrase)
