"""Logs: one canonical line per call on stderr, and every other line in the same shape.

A line may hold: who (a hash), which vault (names are the operator's own; they never become metric labels), which tool,
how it ended, how long and how big. Never arguments, queries, titles, note or memory text, tokens, or the text of an
exception.

Libraries log through the standard library. They are held at WARNING, and only the message template of their records
is kept, without its values: the SDK's name methods and session ids, asyncio's hold the ``repr`` of a failed task.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog

from ops.log_lines import failure_fields, to_json_line, to_text_line
from ops.settings import OpsSettings
from ops.sink import Sink

if TYPE_CHECKING:
    from types import TracebackType

OWN_PACKAGES = ("server", "ops", "auth", "vaults")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
Render = Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class CallLine:
    """The canonical line of one call: these keys and no others. ``None`` leaves a key out."""

    request: str | None
    principal: str | None  # ``Principal.key``
    vault: str | None
    tool: str
    transport: str
    outcome: str  # ``ok`` or an error code
    seconds: float  # in dispatch
    era: str | None = None
    bytes_in: int | None = None  # of the arguments
    bytes_out: int | None = None  # of the result
    tokens: int | None = None  # of the result
    hits: int | None = None
    cache: str | None = None  # ``hit`` or ``miss``
    warnings: int | None = None
    ref: str | None = None  # the reference in an ``internal`` answer
    failure: BaseException | None = None  # what ``ref`` refers to
    server: str | None = None  # the one of several that made it


class CallLog:
    """Writes canonical lines: about 15 µs each, never blocking, never raising."""

    def __init__(self, sink: Sink, render: Render = to_json_line, *, level: str = "info") -> None:
        self.sink = sink
        self._render = render
        self._least = _LEVELS[level]

    def write(self, line: CallLine) -> None:
        broken = line.outcome == "internal"
        if not broken and self._least > logging.INFO:
            return
        fields: dict[str, Any] = {
            "ts": now(),
            "level": "error" if broken else "info",
            "event": "call",
            "request": line.request,
            "principal": line.principal,
            "vault": line.vault,
            "tool": line.tool,
            "transport": line.transport,
            "era": line.era,
            "outcome": line.outcome,
            "ms": line.seconds * 1000,
            "bytes_in": line.bytes_in,
            "bytes_out": line.bytes_out,
            "tokens": line.tokens,
            "hits": line.hits,
            "cache": line.cache,
            "warnings": line.warnings,
            "ref": line.ref,
            "server": line.server,
        }
        if line.failure is not None:
            fields |= failure_fields(line.failure)
        self.sink.write(self._render(fields))

    def warn(self, event: str, **fields: object) -> None:
        """A line of another kind, at level warning; ``None`` leaves a key out."""
        if self._least <= logging.WARNING:
            self.sink.write(self._render({"ts": now(), "level": "warning", "event": event, **fields}))


def now() -> str:
    """Wall time, RFC 3339 in UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure(settings: OpsSettings, sink: Sink | None = None) -> CallLog:
    """Route structlog, the standard library, warnings and uncaught exceptions to one sink.

    Process-wide; call it once, before anything logs. Calling it again replaces the previous set-up.
    """
    sink = sink or Sink(2)  # stderr, also where sys.stderr is something else
    console = settings.log_format == "console" or (settings.log_format == "auto" and sink.terminal)
    render: Render = to_text_line if console else to_json_line
    structlog.configure(
        processors=[structlog.processors.add_log_level, _make_processor(render)],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[settings.log_level]),
        logger_factory=lambda *_: _LineLogger(sink),
        cache_logger_on_first_use=False,  # a second configure() must reach loggers that were used before
    )
    _route_stdlib(_StdlibHandler(sink, render), _LEVELS[settings.log_level])
    _route_uncaught()
    return CallLog(sink, render, level=settings.log_level)


class _LineLogger:
    """The logger structlog writes to: takes the finished line, whatever its level."""

    def __init__(self, sink: Sink) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = self.exception = sink.write


def _make_processor(render: Render) -> Callable[[Any, str, MutableMapping[str, Any]], str]:
    """The last processor: stamps the event, adds what may be said about an exception, renders."""

    def shape(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
        fields = {"ts": now(), "level": event.pop("level"), "event": event.pop("event")}
        error = event.pop("exc_info", None)
        if error is True:
            error = sys.exc_info()[1]
        fields.update(event)
        if isinstance(error, BaseException):
            fields |= failure_fields(error)
        return render(fields)

    return shape


class _StdlibHandler(logging.Handler):
    """Records of the standard library, in our shape."""

    def __init__(self, sink: Sink, render: Render) -> None:
        super().__init__()
        self._sink = sink
        self._render = render

    def emit(self, record: logging.LogRecord) -> None:
        own = record.name.partition(".")[0] in OWN_PACKAGES or record.name == "py.warnings"
        text = record.getMessage() if own else str(record.msg)
        # First line only: asyncio and Starlette put a future's repr or a whole traceback on the following ones.
        fields: dict[str, Any] = {
            "ts": now(),
            "level": record.levelname.lower(),
            "event": text.partition("\n")[0],
            "logger": record.name,
        }
        if record.exc_info and record.exc_info[1] is not None:
            fields |= failure_fields(record.exc_info[1])
        self._sink.write(self._render(fields))


def _route_stdlib(bridge: logging.Handler, level: int) -> None:
    logging.raiseExceptions = False  # its own complaint would print the record's arguments
    logging.captureWarnings(capture=True)
    root = logging.getLogger()
    root.handlers[:] = [bridge]
    root.setLevel(logging.WARNING)
    for name in OWN_PACKAGES:
        logging.getLogger(name).setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = name != "uvicorn.access"
        # Its warnings are about single requests, as many as a stranger sends; we log those ourselves.
        logger.setLevel(logging.ERROR)


def _route_uncaught() -> None:
    """Uncaught exceptions as lines too: the default hooks print messages and source over many lines."""
    log = structlog.get_logger()

    def main(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        log.error("uncaught", exc_info=error)

    def thread(args: threading.ExceptHookArgs) -> None:
        log.error("uncaught_in_thread", thread=args.thread.name if args.thread else None, exc_info=args.exc_value)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        log.error("unraisable", exc_info=args.exc_value)

    sys.excepthook, threading.excepthook, sys.unraisablehook = main, thread, unraisable
