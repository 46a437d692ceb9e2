"""Who calls over HTTP, as the gate found it, with the view that headers and query of the request ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast
from urllib.parse import parse_qs

from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.types import Scope
from uuid_utils import uuid7

from server.call import AnswerForm, Caller
from server.caller_views import PRESET_NAMES, WRITE_MODES, first_preset, strictest_mode
from server.http.gate import Admission
from server.http.request_head import Refusal
from server.services import Services
from vaults.errors import NotFound

_ERAS = {version.encode(): version for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)}
_CALLER_HEADERS = {
    b"x-strongroom-workspace": "workspace",
    b"x-strongroom-session": "session",
    b"x-strongroom-client": "client",
}
_LABEL = 200
_PROGRAM = re.compile(rb"[A-Za-z0-9._-]{1,60}")


def caller_of(scope: Scope, services: Services) -> Caller:
    """Who calls, as the gate found it, with the view this request asks for. Raises ``Refusal`` naming what does not
    fit: silently dropping a workspace would put memories where others see them."""
    admission: Admission = scope["state"]["admission"]
    era = DEFAULT_NEGOTIATED_VERSION
    about: dict[str, str] = {}
    program: str | None = None
    view = _parse_view_request(scope["query_string"])
    for name, value in scope["headers"]:
        if name == b"mcp-protocol-version":
            era = _ERAS.get(value, "")
        elif name in _CALLER_HEADERS:
            about[_CALLER_HEADERS[name]] = _label(name, value)
        elif name == b"user-agent":
            program = _client_program(value)
    try:
        entry = services.registry_cache.entry(admission.vault)
    except NotFound as failure:  # archived since the gate looked
        raise Refusal(404, failure.code, failure.message, reason="grant") from None
    return Caller(
        principal=admission.principal,
        vault=admission.vault,
        role=admission.role,
        transport="http",
        preset=first_preset(view.preset, admission.principal.preset, entry.preset),
        write_mode=strictest_mode(services.settings.server.write_mode, entry.write_mode, view.write_mode),
        form=view.form,
        era=era,
        request_id=str(uuid7()),
        workspace=about.get("workspace"),
        session=about.get("session"),
        client=about.get("client") or program,
        address=scope["client"][0] if scope.get("client") else None,
    )


@dataclass(frozen=True, slots=True)
class _ViewRequest:
    """What the URL asks for. A write mode can only be stricter than those of server and vault."""

    preset: str | None = None
    write_mode: str = "auto"
    form: AnswerForm = "both"


@lru_cache(maxsize=256)
def _parse_view_request(query: bytes) -> _ViewRequest:
    if not query:
        return _ViewRequest()
    asked = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    form = cast("AnswerForm", _parse_choice(asked, "content", ("both", "text", "structured")) or "both")
    return _ViewRequest(
        _parse_choice(asked, "tools", PRESET_NAMES), _parse_choice(asked, "write_mode", WRITE_MODES) or "auto", form
    )


def _parse_choice(listing: Mapping[str, Sequence[str]], name: str, known: Sequence[str]) -> str | None:
    values = listing.get(name)
    if values is None:
        return None
    if len(values) != 1 or values[0] not in known:
        message = f"Validation error: {name} must be one of {', '.join(known)}"
        raise Refusal(400, "invalid_argument", message, reason="header")
    return values[0]


def _label(name: bytes, value: bytes) -> str:
    try:
        text = value.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not (0 < len(text) <= _LABEL and text.isprintable()):
        message = f"Validation error: {name.decode()} must be 1 to {_LABEL} printable characters"
        raise Refusal(400, "invalid_argument", message, reason="header")
    return text


def _client_program(agent: bytes) -> str | None:
    """The calling program, by the first word of its user agent. It tells the sessions of one person apart."""
    return (found := _PROGRAM.match(agent)) and found[0].decode("ascii")
