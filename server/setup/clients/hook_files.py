"""What ``connect --hooks`` writes for each client: hooks in its lists, or a plugin."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.setup.clients.config_edits import ConfigEdit
from server.setup.clients.hook_lists import lists_edit
from server.setup.clients.hook_plugin import PLUGIN_EDIT, fill_plugin
from server.setup.clients.hooked_clients import HOOKED
from server.setup.clients.known_clients import UserFolders

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HookSetup:
    """What ``connect --hooks`` does for one client: the user's file, how it is edited, and what it is to say."""

    file: Path
    edit: ConfigEdit
    entry: Json
    afterwards: str = ""

    def show(self) -> str:
        """A whole file with our hooks alone."""
        return self.edit.put("", self.entry)[0]


HOOK_CLIENTS = (*HOOKED, "opencode")


def hook_setup(client: str, where: UserFolders, command: str, options: Sequence[str]) -> HookSetup:
    """Hooks that run ``command`` with ``options``. ``client``: one of ``HOOK_CLIENTS``."""
    if client == "opencode":
        file = where.folder("XDG_CONFIG_HOME", ".config") / "opencode" / "plugins" / "strongroom.js"
        return HookSetup(file, PLUGIN_EDIT, {"text": fill_plugin(command, options)})
    known = HOOKED[client]
    words = {event: [command, "hook", event, "--client", client, *options] for event in set(known.events.values())}
    entry = {event: [known.hook(_line(words[ours]), ours)] for event, ours in known.events.items()}
    return HookSetup(known.file(where), lists_edit(known.beside), entry, known.afterwards)


def _line(words: Sequence[str]) -> str:
    """For the shell, with exit code 0 whatever happens: another could discard the person's prompt."""
    if sys.platform == "win32":
        return " ".join(f'"{word}"' if " " in word else word for word in words)
    return f"{shlex.join(words)} || true"
