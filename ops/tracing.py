"""Traces, only where an OTLP endpoint is configured.

The MCP SDK puts its OpenTelemetry middleware first into ``server.middleware``. Without an exporter its spans go
nowhere and cost 18 % of a call, so when ``start_tracing`` returns ``None`` the middleware must be removed. With one it
stays: it reads ``traceparent`` from ``_meta`` and needs only a global tracer provider, which is set here.

Spans name methods and tools as the caller sent them, but no arguments. A handler that raises would put the exception's
text into its span: one more reason for the wall around every handler.
"""

from __future__ import annotations

from collections.abc import Callable

from vaults.errors import InvalidArgument

ENDPOINT_SETTING = "ops.otlp_endpoint"


def start_tracing(endpoint: str | None, *, version: str) -> Callable[[], None] | None:
    """Begin exporting; returns a function that flushes and ends it, or ``None`` if no endpoint is configured.

    Nothing of OpenTelemetry's SDK is imported without one. Blocking work happens in the SDK's own thread.

    Raises ``InvalidArgument`` when the address is no http(s) URL or the ``telemetry`` extra is not installed.
    """
    if endpoint is None:
        return None
    if not endpoint.startswith(("http://", "https://")):
        raise InvalidArgument(ENDPOINT_SETTING, "must be an http:// or https:// URL")
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise InvalidArgument(
            ENDPOINT_SETTING, "needs the telemetry extra", hint="pip install 'strongroom[telemetry]'"
        ) from missing
    provider = TracerProvider(resource=Resource({"service.name": "strongroom", "service.version": version}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    trace.set_tracer_provider(provider)
    stop: Callable[[], None] = provider.shutdown
    return stop
