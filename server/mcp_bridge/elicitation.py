"""How the protocol asks a person: multi round-trip requests of revision 2026-07-28.

The call is answered with a form and sealed state, and comes again with the person's answer and that state. The SDK's
boundary seals and opens the state: it is valid for one caller, vault, tool and set of arguments, for ten minutes, in
every process over this data folder. A call whose state it cannot open never reaches a handler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from auth.kept_secrets import open_secret
from auth.keys import KEYS_FOLDER
from server.call import Caller, PersonState
from server.services import Services

ANSWER_WITHIN_S = 600.0
"""Seconds a person may take to answer."""

_KEY: Final = "consent"
_NOTHING_TO_FILL_IN: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_KEY_FILE: Final = "request-state.key"


def make_boundary(
    services: Services, identify: Callable[[ServerRequestContext[Any, Any]], Caller]
) -> RequestStateBoundary:
    """The middleware that seals and opens request state."""

    def whose(ctx: ServerRequestContext[Any, Any]) -> str:
        caller = identify(ctx)
        return f"{caller.principal.key} {services.registry_cache.entry(caller.vault).vault_id}"

    security = RequestStateSecurity(
        codec=_LazyCodec(services.data / KEYS_FOLDER, services.settings.auth.key_passphrase_file),
        ttl=ANSWER_WITHIN_S,
        bind_principal=whose,
    )
    return RequestStateBoundary(security, default_audience=services.instance_id)


class _LazyCodec:
    """The SDK's codec, with a key made or read on first use: few servers ever ask, and some may not write."""

    def __init__(self, keys: Path, passphrase_file: str | None) -> None:
        self._keys = keys
        self._passphrase_file = passphrase_file

    @cached_property
    def _codec(self) -> AESGCMRequestStateCodec:
        return AESGCMRequestStateCodec([open_secret(self._keys, _KEY_FILE, self._passphrase_file)])

    def seal(self, payload: bytes) -> str:
        return self._codec.seal(payload)

    def unseal(self, token: str) -> bytes:
        return self._codec.unseal(token)


def person_of(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> PersonState:
    """What this request says of the person behind it. The boundary has opened ``params``, so their state is ours."""
    if params.request_state == _KEY:
        answer = (params.input_responses or {}).get(_KEY)
        if isinstance(answer, ElicitResult):
            return "agreed" if answer.action == "accept" else "declined"
    return "there" if _can_ask(ctx) else "away"


def _can_ask(ctx: ServerRequestContext[Any, Any]) -> bool:
    declared = ctx.session.client_capabilities
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS or declared is None or declared.elicitation is None:
        return False
    return declared.elicitation.form is not None or declared.elicitation.url is None  # neither named: forms


def to_input_request(question: str) -> InputRequiredResult:
    """The answer that makes the client ask. The boundary seals its state on the way out."""
    form = ElicitRequestFormParams(message=question, requested_schema=_NOTHING_TO_FILL_IN)
    return InputRequiredResult(input_requests={_KEY: ElicitRequest(params=form)}, request_state=_KEY)
