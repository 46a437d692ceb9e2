"""Settings that a project is given when its vault is made."""

from __future__ import annotations

import tomllib
from pathlib import Path

from server.settings import FILE
from vaults.errors import Conflict
from vaults.files.atomic import write_atomic

HARVEST = """[harvest]
# Conversations with agents that were held in this project are kept in its vault while `strongroom stdio` serves it.
enabled = true
"""


def enable_harvest(state: Path) -> Path | None:
    """Have the vault of a project keep the conversations held there; the file that was written, None if nothing was to
    do. Raises ``Conflict`` where the settings say otherwise: they are somebody's own words."""
    path = state / FILE
    try:
        content = path.read_text(encoding="utf-8")
        section = tomllib.loads(content).get("harvest")
    except FileNotFoundError:
        content, section = "", None
    except (OSError, ValueError) as failure:
        raise Conflict(f"{path} cannot be read") from failure
    if section is not None:
        if isinstance(section, dict) and section.get("enabled") is True:
            return None
        raise Conflict(f"{path} has a section harvest", hint="set enabled = true in it")
    gap = "" if not content or content.endswith("\n\n") else "\n" if content.endswith("\n") else "\n\n"
    write_atomic(path, (content + gap + HARVEST).encode())
    return path
