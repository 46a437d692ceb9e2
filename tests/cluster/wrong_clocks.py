"""Servers whose time of day is wrong, and is put while they run: a small library that is loaded before libc."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("put_clock.c")


def build_clock(folder: Path) -> Path:
    """The library for LD_PRELOAD. Skips where the machine has no compiler, or is no Linux."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a compiler of C")
    library = folder / "put_clock.so"
    done = subprocess.run([compiler, "-shared", "-fPIC", "-o", library, SOURCE], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("the library for other clocks cannot be built here")
    return library


def put_clock(data: Path, seconds: int) -> None:
    """From now on the process over that data folder is so much ahead. To be there before it starts."""
    clock = data.with_name(f"{data.name}.clock")
    with clock.open("r+b" if clock.exists() else "wb") as file:
        file.write(struct.pack("=q", seconds))
