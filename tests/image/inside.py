"""Looks at a container from inside, where it is run from standard input: ``python - FUNCTION ARGUMENT … < inside.py``.
Prints what the function finds, as JSON. Needs nothing but Python."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import sysconfig
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def processes() -> list[dict[str, str]]:
    """What the kernel says of each, by the names of ``/proc/PID/status``."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has ended
            found.append(dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line))
    return found


def writable(*beside: str) -> list[str]:
    """Folders in which a file can be made, the topmost of each tree."""
    found: list[str] = []
    for top, folders, _ in os.walk("/"):
        if top in {"/proc", "/sys", "/dev", *beside}:
            folders.clear()
            continue
        with suppress(OSError), tempfile.TemporaryFile(dir=top):
            found.append(top)
            folders.clear()
    return sorted(found)


def shared() -> list[str]:
    """What of the data others may look at, or belongs to them."""
    looks = {str(path): path.lstat() for path in (Path("/data"), *Path("/data").rglob("*"))}
    return [path for path, look in looks.items() if look.st_mode & 0o077 or look.st_uid != os.getuid()]


def present(*names: str) -> list[str]:
    """Which of these packages can be imported, or of these paths are there."""
    return [name for name in names if (Path(name).exists() if name[0] == "/" else importlib.util.find_spec(name))]


def contents(folder: str) -> list[str]:
    return sorted(each.name for each in Path(folder).iterdir())


def byte_code(*packages: str) -> dict[str, int]:
    """How many modules they have, and how many of those lack byte code."""
    place = Path(sysconfig.get_path("purelib"))
    sources = [source for package in packages for source in (place / package).rglob("*.py")]
    lacking = [source for source in sources if not Path(importlib.util.cache_from_source(str(source))).exists()]
    return {"modules": len(sources), "lacking": len(lacking)}


def send(name: str) -> None:
    """A signal, to the process that serves."""
    for place in Path("/proc").glob("[0-9]*"):
        words = (place / "cmdline").read_bytes().split(b"\0")
        if b"serve" in words and not words[0].endswith(b"init"):
            os.kill(int(place.name), signal.Signals[name])


def fill(path: str) -> int:
    """Take all the room there is with one file; its size."""
    with Path(path).open("ab") as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    os.write(file.fileno(), bytes(size))
    return Path(path).stat().st_size


def remove(path: str) -> None:
    Path(path).unlink()


def metrics() -> str:
    from urllib.request import urlopen

    with urlopen("http://127.0.0.1:9700/metrics") as answer:
        told: str = answer.read().decode()
    return told


def torch_vector() -> list[Any]:
    """PyTorch's CUDA, and a vector that it computes."""
    import torch
    from sentence_transformers import SentenceTransformer

    assert SentenceTransformer
    return [torch.version.cuda, torch.nn.functional.normalize(torch.ones(1, 4)).tolist()]


print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
