"""What a process does first that is killed at one of its system calls."""

from __future__ import annotations

import ctypes
import os

PR_SET_PTRACER = 0x59616D61


def be_traced() -> None:
    """Let any process trace this one, and say nothing on stderr: what is cut off leaves tracebacks there."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, -1, 0, 0, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
