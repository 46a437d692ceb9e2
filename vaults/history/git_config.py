"""Reads the few lines of a repository's configuration that describe its format. Acts on nothing in it."""

from __future__ import annotations

import re
from pathlib import Path

from vaults.history.errors import HistoryUnavailable
from vaults.history.refs import read_small_file

_LARGEST = 1024 * 1024
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*("(?:[^"\\]|\\.)*")?\s*\]\s*')
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")

# Extensions that change neither objects nor references. Any other one, also a future one, is refused.
_HARMLESS = {"noop", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees"}


def read_config(private: Path, common: Path) -> dict[str, str]:
    """``core.*`` and ``extensions.*`` by lower-case name; includes are not followed.

    Raises HistoryUnavailable for a format this code does not write, such as SHA-256 or reftable.
    """
    found = _read(common / "config")
    if _is_true(found.get("extensions.worktreeconfig", "false")):
        found |= _read(private / "config.worktree")
    version = found.get("core.repositoryformatversion", "0")
    extensions = {key.partition(".")[2]: value for key, value in found.items() if key.startswith("extensions.")}
    expected = {"objectformat": "sha1", "refstorage": "files"}
    odd = [key for key, value in extensions.items() if key not in _HARMLESS and expected.get(key) != value.lower()]
    if version not in ("0", "1") or odd or (common / "reftable").exists():
        raise HistoryUnavailable("the repository has a format that is not supported")
    return found


def is_bare(found: dict[str, str]) -> bool:
    return _is_true(found.get("core.bare", "false"))


def _is_true(value: str) -> bool:
    return value.lower() in ("true", "yes", "on", "1")


def _read(path: Path) -> dict[str, str]:
    data = read_small_file(path, _LARGEST)
    found: dict[str, str] = {}
    section = ""
    for raw in (data or b"").decode("utf-8", "replace").splitlines():
        line = raw.strip()
        header = _SECTION.match(line)
        if header:
            section = "" if header[2] else header[1].lower()  # no section read here has a subsection
            line = line[header.end() :]
        entry = _ENTRY.match(line)
        if entry and section in ("core", "extensions"):
            found[f"{section}.{entry[1].lower()}"] = _parse_value(entry[2])
    return found


def _parse_value(text: str | None) -> str:
    """A value without its comment and quotes; a name alone means true."""
    if text is None:
        return "true"
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else re.split(r"\s*[#;]", text)[0].strip()
