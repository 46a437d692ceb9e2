"""``strongroom hook stop``, as far as an agent's program waits for it: hand the path of the transcript over, and end.

What takes its time (opening a vault or reaching a server, reading the file) is done by a process of its own, which
outlives this one. Nothing is imported here but what starts it: a hook is to return before anybody notices.

Of one transcript one process is at work and one waits for it to end; while one waits, no further is started, as that
one will read all that is there by then. So turns that end quickly do not pile up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from server.hook_dialects import CLAUDE_CODE, DIALECTS, FIELDS, HookDialect

INPUT_BYTES = 8 * 1024 * 1024
LOCKS = "~/.cache/strongroom/hooks"
DAY_S = 86_400
PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
"""Where the packages of this program are, which stand on no path but its own where it is installed."""

_CHILD = "import sys; sys.path.insert(0, sys.argv.pop(1)); from server.cli.hand_over import work; work()"

_OPTIONS = ("--client", "--vault", "--url", "--token-file", "--within", "--data", "--config")


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether these are ``hook stop`` of a known client, and options with their values: anything else is for the
    command to explain."""
    words = iter(arguments[2:])
    whole = all(word.partition("=")[0] in _OPTIONS and ("=" in word or next(words, None)) for word in words)
    return list(arguments[:2]) == ["hook", "stop"] and whole and _client(arguments[2:]) in DIALECTS


def _client(options: Sequence[str]) -> str:
    """The program that is named, the last time it is."""
    named = CLAUDE_CODE
    words = iter(options)
    for word in words:
        name, equals, after = word.partition("=")
        value = after if equals else next(words, "")
        if name == "--client":
            named = value
    return named


def hand_over(options: Sequence[str]) -> int:
    """Start what does the work. Always 0: no failure may stop whoever runs the hook."""
    try:
        said = _read_input(sys.stdin.buffer.read(INPUT_BYTES + 1), DIALECTS[_client(options)])
        place = _take_place(said, options)
        if place is not None:
            _start([sys.executable, "-P", "-c", _CHILD, PACKAGES, ",".join(map(str, place)), *options], said, place)
    except (ValueError, RecursionError):
        _complain("stdin is not the JSON of a hook")
    except OSError as failure:
        _complain(f"cannot start a process ({failure.strerror})")
    return 0


def _read_input(raw: bytes, dialect: HookDialect) -> bytes:
    """What is handed over of the input. Raises ``ValueError``."""
    given = json.loads(raw) if len(raw) <= INPUT_BYTES else None
    if not isinstance(given, dict):
        raise ValueError  # noqa: TRY004  it is the text that is wrong
    read = dialect.read(given)
    kept = {
        name: value
        for name, most in FIELDS.items()
        if isinstance(value := read.get(name), str) and len(value.encode("utf-8", "surrogatepass")) <= most
    }
    return json.dumps(kept).encode()


def _take_place(said: bytes, options: Sequence[str]) -> tuple[int, ...] | None:
    """The descriptors of the place of one that waits, which is taken, and of one that works; None where the first was
    taken already, and nothing where places cannot be told."""
    try:
        import fcntl
        from hashlib import blake2b

        folder = os.path.expanduser(LOCKS)  # noqa: PTH111  pathlib takes longer than the rest
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        name = blake2b(said + "\0".join(options).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        waits, works = (_open(f"{folder}/{name}.{place}") for place in ("waits", "works"))
    except (ImportError, OSError):  # not POSIX, or no home folder of its own: each starts a process
        return ()
    try:
        fcntl.flock(waits, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    return waits, works


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _start(command: Sequence[str], said: bytes, place: Sequence[int]) -> None:
    """Start a process of a session of its own: the end of the agent's program does not end it, and no pipe of that
    program is kept open by it. ``-P``: no module of the folder the agent works in is imported."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(  # noqa: S603  our own interpreter, and options of our own
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True, pass_fds=place
    )
    assert process.stdin is not None
    process.stdin.write(said)
    process.stdin.close()
    process.returncode = 0  # nobody waits for it


def _complain(reason: str) -> None:
    sys.stderr.write(f"strongroom hook: {reason}\n")


def work() -> int:
    """In the process that was started: wait until no other is at work, let the next one wait, and do it."""
    from server.cli import run_command

    place, options = [int(number) for number in sys.argv[1].split(",") if number], sys.argv[2:]
    if place:
        import fcntl

        waits, works = place
        fcntl.flock(works, fcntl.LOCK_EX)
        os.close(waits)
    try:
        return run_command(["hook", "stop", "--wait", *options])
    finally:
        _tidy(os.path.expanduser(LOCKS))  # noqa: PTH111


def _tidy(folder: str) -> None:
    """Remove what is left of conversations of other days. A lock that is still held is only one that nobody else
    finds: two processes would work, one after the other."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > DAY_S:
                os.unlink(entry.path)  # noqa: PTH108
