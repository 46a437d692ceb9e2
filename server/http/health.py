"""``/health/live`` and ``/health/ready``: no token, no vault, bounded time."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ops.health import HealthRegistry

_HEADERS = {"Cache-Control": "no-store"}


def health_routes(health: HealthRegistry) -> list[Route]:
    """Live is 200 whenever the loop runs; ready is 200 or 503 with one word per part, and details of some."""

    async def live(_: Request) -> Response:
        return JSONResponse({"status": "live"}, headers=_HEADERS)

    async def ready(_: Request) -> Response:
        report = await health.ready()
        body = {"status": report.status, "parts": dict(report.parts), **report.details}
        return JSONResponse(body, status_code=200 if report.serving else 503, headers=_HEADERS)

    return [Route("/health/live", live, methods=["GET"]), Route("/health/ready", ready, methods=["GET"])]
