"""What the doors for people answer once the server's files were replaced under it: that it has to be restarted."""

from __future__ import annotations

from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from server.http.request_head import Refusal, respond

MESSAGE = "this server was upgraded while it ran: restart it"

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Restart the server</title>
<h1>This server was upgraded while it ran</h1>
<p>Its files are not those it was started from. Whoever runs it has to restart it; then this page opens again.</p>
<p>Nothing is lost, and agents are served meanwhile.</p>
</html>
"""
"""In one language and without a style: those lie in files, which are of another version now."""

_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "retry-after": "30",
    "x-content-type-options": "nosniff",
}


async def say_upgraded(scope: Scope, receive: Receive, send: Send) -> None:
    """ASGI: a page for browsers, the usual JSON for programs."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    if b"text/html" in accepted:
        await HTMLResponse(PAGE, 503, headers=_HEADERS)(scope, receive, send)
        return
    await respond(Refusal(503, "vault_unavailable", MESSAGE, reason="vault_unavailable"), send)
