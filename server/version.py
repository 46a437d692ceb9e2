"""The running version, and its commit where known."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMIT_FILE = Path(__file__).with_name("commit.txt")
"""Written by builds that leave the checkout behind: one line, the commit."""

_HEX = re.compile(r"[0-9a-f]{40}")


@cache
def version() -> str:
    """Semantic version: of the checkout this runs from, else of the installed package."""
    project = ROOT / "pyproject.toml"
    if project.is_file():
        found = re.search(
            r'^name = "strongroom"\nversion = "([^"]+)"', project.read_text(encoding="utf-8"), re.MULTILINE
        )
        if found:
            return found[1]
    from importlib import metadata

    return metadata.version("strongroom")


@cache
def commit() -> str | None:
    """The commit, 40 hex digits: of the build, or of the checkout this runs from. Runs no git."""
    try:
        text = (
            COMMIT_FILE.read_text(encoding="ascii").strip()
            if COMMIT_FILE.is_file()
            else _checkout_commit(ROOT / ".git")
        )
    except (OSError, UnicodeDecodeError):
        return None
    return text if text and _HEX.fullmatch(text) else None


def _checkout_commit(git: Path) -> str | None:
    if git.is_file():  # a linked work tree
        git = (git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
    head = (git / "HEAD").read_text(encoding="utf-8").strip()
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    shared = git / (git / "commondir").read_text(encoding="utf-8").strip() if (git / "commondir").is_file() else git
    loose = shared / name
    if loose.is_file():
        return loose.read_text(encoding="utf-8").strip()
    packed = (shared / "packed-refs").read_text(encoding="utf-8")
    found = re.search(rf"^([0-9a-f]{{40}}) {re.escape(name)}$", packed, re.MULTILINE)
    return found[1] if found else None
