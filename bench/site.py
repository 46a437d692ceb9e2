"""The real application with a bare Starlette route and the bench's tools beside it: ``python -m bench.site``.

Everything else is as in ``strongroom serve``: the same ``run_server``, gate, limits, metrics and log.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from server.http.app import ApplicationBuilder
from server.http.serve import Instruments, ServeOptions, address, bind, run_server
from server.settings import export_environment, load

BARE = "/bare"
TOOLS = ("bench.noop_tool", "bench.import_tool")


@dataclass(frozen=True, slots=True)
class Site:
    """Builds the application of a process."""

    application: ApplicationBuilder

    def __call__(self, instruments: Instruments) -> Any:
        """The application; ``/bare`` never reaches it."""
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        async def bare(request: Request) -> JSONResponse:
            asked = await request.json() if request.method == "POST" else {"id": 7}
            return JSONResponse({"ok": True, "number": asked["id"]})

        real, plain = self.application(instruments), Starlette(routes=[Route(BARE, bare, methods=["GET", "POST"])])

        async def serve(scope: Any, receive: Any, send: Any) -> None:
            app = plain if scope["type"] == "http" and scope["path"] == BARE else real
            await app(scope, receive, send)

        return serve


def main() -> int:
    """Settings come from the environment alone."""
    export_environment()
    loaded = load()
    server, ops = loaded.settings.server, loaded.settings.ops
    listener, metrics = bind(server.host, server.port), bind(ops.metrics_host, ops.metrics_port)
    application = ApplicationBuilder(loaded, address(listener), TOOLS)
    return run_server(Site(application), ServeOptions(ops=ops), listener, metrics)


if __name__ == "__main__":
    sys.exit(main())
