"""What pages load: style, scripts and the icon, each under an address that names its content.

A changed file has another address, so browsers keep what they have for good. Nothing comes from anywhere else.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from server.oauth.pages import frame_style

_FOLDER = Path(__file__).parent / "assets"

HTMX_VERSION = "2.0.11"
HTMX_DIGEST = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""SHA-256 of ``htmx.min.js`` as ``htmx.org`` 2.0.11 of the npm registry holds it; its licence, 0BSD, lies beside it."""

_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is served. ``address``: its name with the start of its digest."""

    address: str
    media_type: str
    data: bytes
    packed: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """All of them by name, read once."""
    return {
        "console.css": _asset("console.css", "text/css", frame_style().encode() + _read("console.css")),
        "console.js": _asset("console.js", "text/javascript", _read("console.js")),
        "htmx.min.js": _asset("htmx.min.js", "text/javascript", _read("htmx.min.js")),
        "graph.js": _asset("graph.js", "text/javascript", _read("graph.js")),
        "graph_picture.js": _asset("graph_picture.js", "text/javascript", _read("graph_picture.js")),
        "icon.svg": _asset("icon.svg", "image/svg+xml", _read("icon.svg")),
    }


async def serve_asset(request: Request) -> Response:
    """The file at an address; of an older or unknown one nothing."""
    wanted = request.path_params["address"]
    found = next((each for each in assets().values() if each.address == wanted), None)
    if found is None:
        return Response(status_code=404)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, media_type=found.media_type, headers={**_HEADERS, "content-encoding": "gzip"})
    return Response(found.data, media_type=found.media_type, headers=_HEADERS)


def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()


def _asset(name: str, media_type: str, data: bytes) -> Asset:
    stem, _, suffix = name.rpartition(".")
    address = f"{stem}.{hashlib.sha256(data).hexdigest()[:16]}.{suffix}"
    return Asset(address, media_type, data, gzip.compress(data, mtime=0))
