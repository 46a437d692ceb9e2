"""Public documents: RFC 9728 metadata, and the keys of locally issued tokens.

The metadata of a vault is computed from its name alone, so it says nothing about which vaults exist. These documents
are the same for everybody, which is why any origin may read them; nothing else here is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from auth.roles import Role
from server.http.gate import METADATA_PATH, PLAIN_NAME

_PUBLIC = {"access-control-allow-origin": "*", "cache-control": "public, max-age=300"}


def metadata_routes(public_url: str, issuers: Sequence[str], jwks: Callable[[], dict[str, Any]] | None) -> list[Route]:
    """The routes. ``public_url`` without trailing slash; ``jwks`` None: no tokens are issued here."""

    def document(path: str) -> JSONResponse:
        return JSONResponse(_metadata(f"{public_url}{path}", issuers), headers=_PUBLIC)

    async def whole(_: Request) -> Response:
        return document("")

    async def chosen(_: Request) -> Response:
        return document("/mcp")

    async def vault(request: Request) -> Response:
        name = request.path_params["vault"]
        return document(f"/v/{name}/mcp") if PLAIN_NAME.fullmatch(name) else Response(status_code=404)

    async def keys(_: Request) -> Response:
        return JSONResponse({"keys": []} if jwks is None else jwks(), headers=_PUBLIC)

    return [
        Route(METADATA_PATH, whole),
        Route(f"{METADATA_PATH}/mcp", chosen),
        Route(f"{METADATA_PATH}/v/{{vault}}/mcp", vault),
        Route("/.well-known/jwks.json", keys),
    ]


def _metadata(resource: str, issuers: Sequence[str]) -> dict[str, Any]:
    # Only the scope everybody needs first: a client asks for the rest when a challenge names it.
    document: dict[str, Any] = {
        "resource": resource,
        "scopes_supported": [Role.READER.scope],
        "bearer_methods_supported": ["header"],
        "resource_name": "strongroom",
    }
    if issuers:
        document["authorization_servers"] = list(issuers)
    return document
