"""Code bases to measure with: the sources of libraries that are installed here, copied into a folder of their own."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.run import ROOT
from vaults.code.exclusions import HEAD_BYTES, why_excluded
from vaults.code.languages import find_language

PYTHON = Path(sysconfig.get_paths()["purelib"])
NODE = ROOT / ".venv" / "node" / "node_modules"

LARGE = (
    "sympy",
    "transformers",
    "torch",
    "sklearn",
    "scipy",
    "networkx",
    "numpy",
    "hypothesis",
    "pygments",
    "mypy",
    "pip",
)
SMALL = ("networkx", "starlette", "rich", "joblib", "jinja2", "typer", "anyio", "pluggy", "narwhals", "click")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a code base. ``path``: below its root."""

    path: str
    data: bytes

    @property
    def lines(self) -> int:
        return self.data.count(b"\n")

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def read_code_base(packages: Sequence[str], most: int, *, scripts: bool = True) -> list[SourceFile]:
    """Source files of JavaScript's packages, unless ``scripts`` is false, and then of Python's, up to so many lines,
    without what a code base leaves out. The same for the same versions."""
    found, lines = list[SourceFile](), 0
    roots = [NODE] if scripts and NODE.is_dir() else []
    for file in _list_files([*roots, *(PYTHON / name for name in packages)]):
        if lines >= most:
            break
        found.append(file)
        lines += file.lines
    return found


def _list_files(roots: Sequence[Path]) -> Iterator[SourceFile]:
    for root in roots:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root.parent).as_posix().removeprefix("node_modules/")
            if find_language(name) is None or why_excluded(name) or not path.is_file() or path.is_symlink():
                continue
            data = path.read_bytes()
            if data.strip() and not why_excluded(name, data[:HEAD_BYTES]):
                yield SourceFile(name, data)
