"""A token for this shell, by the device flow of another server (RFC 8628): a person says yes in a browser, here or
elsewhere. Uses no proxy and follows no redirect, so the token comes from the server that was named."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import client
from typing import Any
from urllib.parse import urlencode, urlsplit

from vaults.errors import Forbidden, InvalidArgument, Timeout, VaultUnavailable

CLIENT = "strongroom-login"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_ANSWER_BYTES = 64 * 1024
_TIMEOUT_S = 30.0
_VAULT = re.compile(r"(?P<server>.*)/v/(?P<vault>[^/]+)/mcp/?")
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class DeviceLogin:
    """A wish that waits for a person. ``page``: where they say yes, with the code in it; ``interval``: seconds between
    two looks."""

    server: str
    device_code: str = field(repr=False)
    user_code: str
    page: str
    interval: float


@dataclass(frozen=True, slots=True)
class GivenToken:
    """What was allowed. ``expires_at`` is RFC 3339 UTC."""

    token: str = field(repr=False)
    vault: str
    scope: str
    expires_at: str


def ask(url: str, vault: str | None, asked_by: str) -> DeviceLogin:
    """Ask the server at ``url``, or of the vault whose ``/mcp`` it is. Raises ``InvalidArgument`` for an address that
    is none, ``VaultUnavailable`` where nobody signs in."""
    server, named = _server_of(url)
    described = _call(server, "GET", "/.well-known/oauth-authorization-server")
    issuer, wanted = _text(server, described, "issuer"), vault or named
    form = {"client_id": CLIENT, "asked_by": asked_by}
    if wanted is not None:
        form["resource"] = f"{issuer}/v/{wanted}/mcp"
    found = _call(server, "POST", "/oauth/device/start", form)
    if "error" in found:
        raise VaultUnavailable(f"{_host(server)} does not let anybody sign in so: {_code(found)}")
    interval = found.get("interval")
    page = _text(server, found, "verification_uri_complete")
    return DeviceLogin(
        server,
        _text(server, found, "device_code"),
        _text(server, found, "user_code"),
        page,
        float(interval) if isinstance(interval, int) else 5.0,
    )


def wait_for_token(login: DeviceLogin, wait: Callable[[float], None] = time.sleep) -> GivenToken:
    """Look until somebody has answered. Raises ``Forbidden`` for a no, ``Timeout`` where nobody did in time."""
    form = {"grant_type": GRANT, "client_id": CLIENT, "device_code": login.device_code}
    interval = login.interval
    while True:
        wait(interval)
        found = _call(login.server, "POST", "/oauth/token", form)
        match _code(found) if "error" in found else None:
            case None:
                token = _text(login.server, found, "access_token")
                if not _TOKEN.fullmatch(token):
                    raise _not_ours(login.server)
                return GivenToken(
                    token,
                    _text(login.server, found, "vault"),
                    _text(login.server, found, "scope"),
                    _text(login.server, found, "expires_at"),
                )
            case "authorization_pending":
                continue
            case "slow_down":
                interval += login.interval
            case "access_denied":
                raise Forbidden("it was not let in")
            case _:
                raise Timeout("nobody answered in time", hint="run it again")


def _server_of(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise InvalidArgument("URL", "must be an http or https URL of a server, or of a vault's /mcp")
    found = _VAULT.fullmatch(url)
    return (url.rstrip("/").removesuffix("/mcp"), None) if found is None else (found["server"], found["vault"])


def _call(server: str, method: str, path: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
    parts = urlsplit(server)
    kind = client.HTTPSConnection if parts.scheme == "https" else client.HTTPConnection
    body = None if form is None else urlencode(form)
    headers = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, f"{parts.path}{path}", body, headers)
            data = connection.getresponse().read(_ANSWER_BYTES)
        finally:
            connection.close()
    except (OSError, ValueError, client.HTTPException):
        raise VaultUnavailable(f"{_host(server)} cannot be reached") from None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise _not_ours(server) from None
    if not isinstance(found, dict):
        raise _not_ours(server)
    return found


def _text(server: str, found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value.isprintable():
        raise _not_ours(server)
    return value


def _code(found: Mapping[str, Any]) -> str:
    error = found["error"]
    return error if isinstance(error, str) and error.isidentifier() else "error"


def _host(server: str) -> str:
    return urlsplit(server).hostname or "the server"


def _not_ours(server: str) -> VaultUnavailable:
    return VaultUnavailable(
        f"{_host(server)} does not answer as a strongroom server that people sign in to",
        hint="auth.login of the server says whether they do",
    )
