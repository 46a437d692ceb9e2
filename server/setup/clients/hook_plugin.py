"""Our plugin for OpenCode, which runs no commands at its events: a file that is all ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from server.setup.clients.config_edits import ConfigEdit, Edited
from server.setup.clients.hook_lists import NAME

PLUGIN = Path(__file__).with_name("opencode_plugin.js")
_BEGIN = "// Written by `strongroom connect opencode --hooks`"


def fill_plugin(command: str, options: Sequence[str]) -> str:
    """The plugin, with the command it runs."""
    given: Mapping[str, Sequence[str]] = {"COMMAND": [command], "OPTIONS": options}
    text = PLUGIN.read_text(encoding="utf-8")
    for name, words in given.items():
        shown = json.dumps(list(words), ensure_ascii=False)
        head, _, rest = text.partition(f"const {name} = ")
        text = f"{head}const {name} = {shown}{rest[rest.index(chr(10)) :]}"
    return text


def _put(text: str, entry: dict[str, Any]) -> Edited:
    if text and not _is_ours({"text": text}):
        raise ValueError("it is not the plugin that is written there")
    return str(entry["text"]), entry


def _is_ours(content: dict[str, Any]) -> bool:
    return str(content["text"]).startswith(_BEGIN)


PLUGIN_EDIT = ConfigEdit(
    name=NAME,
    what="plugin strongroom",
    read=lambda text: {"text": text},
    find=lambda content: content if content["text"] else None,
    put=_put,
    drop=lambda _: ("", {"text": ""}),
    is_ours=_is_ours,
)
