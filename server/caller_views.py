"""What a caller is shown: role, preset and write mode decide, whatever the door."""

from __future__ import annotations

from typing import Literal, cast

from auth.roles import Role
from server.call import Caller
from server.tool_spec import PRESETS, TOOLSETS

WriteMode = Literal["auto", "ask", "off"]
View = tuple[Role, str, str]
"""Role, preset, write mode: two callers with the same view get the same lists."""

_ALIASES = {"power": "notes", "auto": "full"}
"""Names another system gave to lists of about that size."""

PRESET_NAMES = (*PRESETS, *_ALIASES, *TOOLSETS)
"""What may be asked for as a preset."""

WRITE_MODES = ("auto", "ask", "off")
"""From the most permissive to the strictest."""


def view_of(caller: Caller) -> View:
    """The caller's view."""
    return caller.role, caller.preset, caller.write_mode


def strictest_mode(*modes: str) -> WriteMode:
    """The strictest of the modes; an unknown one allows nothing."""
    return cast("WriteMode", max(modes, key=lambda mode: WRITE_MODES.index(mode) if mode in WRITE_MODES else 2))


def first_preset(*wishes: str | None) -> str:
    """The first wish that is a preset, by its own name, or a toolset; else the smallest preset."""
    known = next((wish for wish in wishes if wish in PRESET_NAMES), PRESETS[0])
    return _ALIASES.get(known, known)
