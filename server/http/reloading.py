"""SIGHUP: certificate and keys are read again, connections and calls go on. It also comes from a terminal that closes,
and then the server that was started there ends."""

from __future__ import annotations

import os
import signal
import ssl
from contextlib import suppress

from server.http.certificate import certificate_end
from server.http.options import ServeOptions

SIGNAL = getattr(signal, "SIGHUP", None)
"""None on Windows, which has no such signal."""


class Terminal:
    """The terminal this process was started from, if any."""

    def __init__(self) -> None:
        self._was_there = _is_there()

    def is_gone(self) -> bool:
        """Whether it has closed since."""
        return self._was_there and not _is_there()


def _is_there() -> bool:
    with suppress(OSError, ValueError):
        return os.isatty(0)
    return False


def reload_certificate(context: ssl.SSLContext, options: ServeOptions) -> float:
    """Have new connections use the pair as it is on disk now; those that are open keep theirs. Returns when it ends, in
    seconds since 1970. Raises ``InvalidArgument`` for a pair that does not fit, and then nothing changes."""
    options.check()  # on a context of its own: loading half a pair would leave this one without a usable key
    assert options.tls_cert is not None
    ends = certificate_end(options.tls_cert)
    context.load_cert_chain(options.tls_cert, options.tls_key)
    return ends


def hold_back() -> None:
    """Keep the signal waiting: until a process that starts has a handler for it, it would end it."""
    if SIGNAL is not None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {SIGNAL})


def let_through() -> None:
    """Deliver the signal, also one that waited."""
    if SIGNAL is not None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {SIGNAL})
