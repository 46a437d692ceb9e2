"""What a worker takes away from itself before it reads a file: memory, files, other processes, its standard output."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

MAX_FILES = 64
"""Max open files of a worker: the libraries it imports need some."""

NICENESS = 10
"""Parsing yields to calls that somebody waits for."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


def confine(memory: int) -> None:
    """Lower the limits of this process, as far as the system has them."""
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        for name, limit in (("AS", memory), ("CORE", 0), ("FSIZE", 0), ("NOFILE", MAX_FILES)):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                number = getattr(resource, f"RLIMIT_{name}")
                hard = resource.getrlimit(number)[1]
                most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
                resource.setrlimit(number, (most, most))
    with contextlib.suppress(AttributeError, OSError):
        os.nice(NICENESS)


def limit_processor_time(seconds: float) -> None:
    """Have the system end this process once it worked for so many more seconds."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, hard))


def end_with(parent: int) -> None:
    """Have this process end with the one that started it (on Linux at once; elsewhere once it reads its input)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None, use_errno=True)
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(0)


def take_channels() -> tuple[int, int]:
    """Input and output of this process under numbers that no library knows; what these print goes nowhere."""
    reading, writing = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    return reading, writing
