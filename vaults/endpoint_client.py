"""The client for every address an operator configured: it goes there, and nowhere else.

No redirect is followed, and no proxy is taken from the environment behind the operator's back. Compressed answers are
not asked for, because their size is unknown before unpacking; whoever gets one refuses it, and counts what it reads.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2


def open_client(url: str, headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
    """A client for ``url``. Its time-outs are the caller's matter. Blocks: the import and the certificates
    take tenths of a second."""
    import httpx2

    if urlsplit(url).scheme == "https":
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; plain http needs none
    sent = {"accept": "application/json", "accept-encoding": "identity", **(headers or {})}
    return httpx2.AsyncClient(verify=context, trust_env=False, follow_redirects=False, headers=sent, timeout=None)
