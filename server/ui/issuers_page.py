"""Whose word is taken for who somebody is: outside issuers and providers, and the keys that sign tokens here."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from auth.kept_keys import KeptKeys, read_kept_keys
from auth.keys import KEYS_FOLDER, KeyRing
from server.redaction import redact_addresses
from server.ui.admin_view import AdminView
from server.ui.page import AdminPage

NO_KEYS = KeptKeys((), (), frozenset())


async def show(view: AdminView) -> Response:
    """The page."""
    auth = view.services.settings.auth
    kept, unopened = await _read_keys(view)
    ends = [each.ended_at for each in kept.uses]
    return view.page(
        "issuers",
        here="settings",
        signs_in=view.parts.signs_in,
        url=view.parts.url,
        issuers=auth.issuers,
        without_keys=redact_addresses,
        providers=auth.providers,
        uses=list(zip(kept.uses, [None, *ends[:-1]], strict=True)) if kept.uses else [],
        secrets=kept.secrets,
        encrypted=kept.encrypted,
        unopened=unopened,
    )


async def _read_keys(view: AdminView) -> tuple[KeptKeys, tuple[str, ...]]:
    """The keys there are, and the names of those that do not open. No key is made for a look at them."""
    services = view.services
    ring = KeyRing(services.data / KEYS_FOLDER, services.settings.auth.key_passphrase_file)
    if not ring.folder.is_dir():
        return NO_KEYS, ()
    await asyncio.to_thread(ring.refresh)
    return await read_kept_keys(services.control, ring), ring.unopened


PAGE = AdminPage("issuers", show)
