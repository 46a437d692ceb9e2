"""The one place where failures become JSON-RPC errors, and the wall that lets nothing else through.

In the handshake era the SDK answers an unhandled exception with its text. The wall is a middleware around the whole
chain, so it also covers a result that cannot be serialised after its handler returned, and handlers added later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError
from uuid_utils import uuid7

from server import errors
from vaults.errors import StrongroomError

_CALLER_ERRORS = frozenset({"invalid_argument", "not_found", "too_large"})

log = structlog.get_logger("server.protocol")


async def error_wall(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Let protocol errors through; any other failure becomes a reference to a log line."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise  # the SDK answers the second one without its text
    except StrongroomError as failure:
        raise to_mcp_error(failure.code, failure.message, errors.to_content(failure)["error"]) from None
    except Exception:
        reference = str(uuid7())
        log.exception("request_failed", ref=reference, era=ctx.protocol_version)
        raise MCPError(INTERNAL_ERROR, "Internal error", {"reference": reference}) from None


def to_mcp_error(code: str, message: str, data: Mapping[str, Any]) -> MCPError:
    """The JSON-RPC error of a failure with a stable code, for requests other than tool calls."""
    number = INVALID_PARAMS if code in _CALLER_ERRORS else INTERNAL_ERROR
    return MCPError(number, replace_surrogates(message), replace_surrogates(dict(data)))


def replace_surrogates(value: Any) -> Any:
    """``value`` with lone surrogates replaced: messages repeat what a caller sent, and no encoder accepts them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(each) for each in value]
    return value
