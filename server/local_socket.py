"""The sockets by which commands of the same user reach the processes that serve a data folder: where they lie, how a
message is framed, and what the settings of both sides are compared by.

They lie in a folder that only this user may enter, one for each serving process, named after it. Whoever can connect
could open the data folder as well, so nothing else is asked of a command. Little is imported here: a command that
finds a server should cost next to nothing.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

FOLDER, SUFFIX = "run", ".sock"
DECLINED: dict[str, object] = {"declined": True}
"""The answer where a command is to work by itself."""

VERSION = 2
"""Of what is said over a socket. A server of another one declines."""

MESSAGE_BYTES = 16 * 1024 * 1024
"""What a command may ask; a larger call is made by the command itself."""

SIZE_BYTES = 4
"""Before each message stands its size, big-endian."""

NAME_BYTES = 100
_DESCRIPTORS = "/proc/self/fd"

PREFIX = "STRONGROOM_"
PLACES = frozenset({"DATA", "CONFIG", "URL", "TOKEN", "TOKEN_FILE", "HOOK_WITHIN"})
"""Variables without a section: where to look, the server that ``hook`` and ``stdio`` call, and the token that clients
read themselves (``connect``): whatever they start has it in its environment too."""


def find_sockets(data: str) -> list[str]:
    """The sockets of a data folder, also those that killed processes left. None in a folder, or with an owner, that is
    not this user's own: a folder of notes may come from anybody."""
    folder = os.path.join(data, FOLDER)  # noqa: PTH118  pathlib takes longer than the rest
    try:
        if not _is_own(os.lstat(folder), stat.S_ISDIR):
            return []
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if entry.name.endswith(SUFFIX)]
            return [entry.path for entry in named if _is_own(entry.stat(follow_symlinks=False), stat.S_ISSOCK)]
    except (OSError, AttributeError):  # AttributeError: no users, so no sockets either
        return []


@contextmanager
def short_name(path: str) -> Iterator[str]:
    """A name of a socket for the length of the block: the system takes no more than ``NAME_BYTES`` of one, and projects
    lie deep. Where a longer one has no short name, it is given as it is, and refused."""
    if len(os.fsencode(path)) <= NAME_BYTES or not os.path.isdir(_DESCRIPTORS):  # noqa: PTH112
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{_DESCRIPTORS}/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def _is_own(status: os.stat_result, is_kind: object) -> bool:
    return callable(is_kind) and bool(is_kind(status.st_mode)) and status.st_uid == os.geteuid()


def variable(name: str) -> str:
    """One of ``PLACES``, as the environment says it; empty: it does not."""
    return os.environ.get(f"{PREFIX}{name}", "")


def settings_stamp(config: str) -> str:
    """A hash of what the environment tells this process and the file of settings holds. Where it differs between a
    command and a server, the command would have worked by other settings, so it works by itself."""
    from hashlib import blake2b

    file = os.path.realpath(config)
    try:
        status = os.stat(file)  # noqa: PTH116
        found = [status.st_ino, status.st_mtime_ns, status.st_size]
    except OSError:
        found = []
    told = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in PLACES
    )
    whole = json.dumps([VERSION, os.path.expanduser("~"), told, file, found])  # noqa: PTH111
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def frame(message: object) -> bytes:
    """A message as it is sent."""
    body = json.dumps(message).encode()
    return len(body).to_bytes(SIZE_BYTES, "big") + body
