"""The client for every address an operator configured: it goes there, and nowhere else.

No redirect is followed, no cookie is kept, and no proxy is taken from the environment behind the operator's back.
Compressed answers are not asked for, because their size is unknown before unpacking; whoever gets one refuses it, and
counts what it reads.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Mapping
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
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
    client = httpx2.AsyncClient(verify=context, trust_env=False, follow_redirects=False, headers=sent, timeout=None)
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


def read_key(file: str) -> str:
    """The key in a file. Blocking. Raises ``ValueError``, whose text says what is wrong."""
    try:
        key = Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, RuntimeError, UnicodeDecodeError):
        raise ValueError("cannot be read") from None
    return check_key(key)


def check_key(key: str) -> str:
    """``key``, if it can stand in a header. Raises ``ValueError``, whose text says what is wrong."""
    if not (key and key.isascii() and key.isprintable()):
        raise ValueError("holds no key: it must be one line of printable ASCII")
    return key


def read_retry_after(header: str | None) -> float | None:
    """Seconds an endpoint asks to be left alone; a date, or anything else, is not read."""
    try:
        wait_s = float(header) if header else math.nan
    except ValueError:
        return None
    return wait_s if 0 <= wait_s < math.inf else None
