"""``strongroom hook stop``, as far as an agent's program waits for it: hand the path of the transcript over, and end.

What takes its time (opening a vault or reaching a server, reading the file) is done by a process of its own, which
outlives this one. Nothing is imported here but what starts it: a hook is to return before anybody notices.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

INPUT_BYTES = 8 * 1024 * 1024
FIELDS = {"session_id": 200, "hook_event_name": 100, "cwd": 4096, "transcript_path": 4096}
"""What is handed over, and how many bytes of each at most: together they fit into a pipe, so nobody waits for a
reader."""

_OPTIONS = ("--vault", "--url", "--token-file", "--within", "--data", "--config")


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether these are ``hook stop`` and options with their values: anything else is for the command to explain."""
    words = iter(arguments[2:])
    whole = all(word.partition("=")[0] in _OPTIONS and ("=" in word or next(words, None)) for word in words)
    return list(arguments[:2]) == ["hook", "stop"] and whole


def hand_over(options: Sequence[str]) -> int:
    """Start what does the work. Always 0: no failure may stop whoever runs the hook."""
    try:
        said = _read_input(sys.stdin.buffer.read(INPUT_BYTES + 1))
        _start([sys.executable, "-P", "-m", "server", "hook", "stop", "--wait", *options], said)
    except (ValueError, RecursionError):
        _complain("stdin is not the JSON of a hook")
    except OSError as failure:
        _complain(f"cannot start a process ({failure.strerror})")
    return 0


def _read_input(raw: bytes) -> bytes:
    """What is handed over of the input. Raises ``ValueError``."""
    if len(raw) > INPUT_BYTES:
        raise ValueError
    given = json.loads(raw)
    if not isinstance(given, dict):
        raise ValueError  # noqa: TRY004  it is the text that is wrong
    kept = {
        name: value
        for name, most in FIELDS.items()
        if isinstance(value := given.get(name), str) and len(value.encode("utf-8", "surrogatepass")) <= most
    }
    return json.dumps(kept).encode()


def _start(command: Sequence[str], said: bytes) -> None:
    """Start a process of a session of its own: the end of the agent's program does not end it, and no pipe of that
    program is kept open by it. ``-P``: no module of the folder the agent works in is imported."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(  # noqa: S603  our own interpreter, and options of our own
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True, close_fds=True
    )
    assert process.stdin is not None
    process.stdin.write(said)
    process.stdin.close()
    process.returncode = 0  # nobody waits for it


def _complain(reason: str) -> None:
    sys.stderr.write(f"strongroom hook: {reason}\n")
