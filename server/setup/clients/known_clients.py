"""The clients whose configuration is known: where it lies, and how a server stands in it.

Each as its own documentation has it: the file of the user, which holds in every project. None is given a token: those
that read environment variables in their configuration are given a reference, the others start ``strongroom stdio``,
which reads a token from a file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from server.setup.clients.server_entry import ConnectedServer, StartedServer

PLACES = ("APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME")
"""Environment variables that say where files lie."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UserFolders:
    """What decides where a client keeps its configuration."""

    home: Path
    environment: Mapping[str, str]
    platform: str = sys.platform

    def folder(self, variable: str, *otherwise: str) -> Path:
        """The folder a variable names, else one below the home folder."""
        named = self.environment.get(variable, "")
        return Path(named) if Path(named).is_absolute() else self.home.joinpath(*otherwise)

    def config(self) -> Path:
        """Where this platform's programs keep what a user configured."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming")
        return self.folder("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A client. ``connected`` None: it connects to no URL with a token that is not in the file itself."""

    title: str
    file: Callable[[UserFolders], Path]
    path: tuple[str, ...]
    started: Callable[[StartedServer], Json]
    connected: Callable[[ConnectedServer], Json] | None
    format: Literal["json", "toml"] = "json"

    def container(self, content: Mapping[str, Any]) -> tuple[str, ...]:
        """Where the servers stand in a file that says ``content``."""
        servers = content.get("mcp")
        if self.path == ("mcp",) and isinstance(servers, dict) and _is_server_map(servers.get("servers")):
            return ("mcp", "servers")  # what OpenCode 2 calls it; it reads the older form as well, OpenCode 1 only that
        return self.path


def _is_server_map(value: Any) -> bool:
    return isinstance(value, dict) and "type" not in value


def _plain(server: StartedServer) -> Json:
    return {"command": server.command, "args": list(server.args)}


def _typed(server: StartedServer) -> Json:
    return {"type": "stdio", **_plain(server)}


def _opencode_file(where: UserFolders) -> Path:
    folder = where.folder("XDG_CONFIG_HOME", ".config") / "opencode"
    return folder / ("opencode.jsonc" if (folder / "opencode.jsonc").exists() else "opencode.json")


def _zed_file(where: UserFolders) -> Path:
    folder = where.config() / "Zed" if where.platform == "win32" else where.folder("XDG_CONFIG_HOME", ".config") / "zed"
    return folder / "settings.json"


def _codex_remote(remote: ConnectedServer) -> Json:
    return {"url": remote.url} | ({"bearer_token_env_var": remote.token_env} if remote.token_env else {})


CLIENTS = {
    "claude-code": KnownClient(
        title="Claude Code",
        file=lambda where: where.folder("CLAUDE_CONFIG_DIR") / ".claude.json",
        path=("mcpServers",),
        started=_typed,
        connected=lambda remote: {"type": "http", "url": remote.url} | remote.headers("${NAME}"),
    ),
    "claude-desktop": KnownClient(
        title="Claude Desktop",
        file=lambda where: where.config() / "Claude" / "claude_desktop_config.json",
        path=("mcpServers",),
        started=_plain,
        connected=None,
    ),
    "cursor": KnownClient(
        title="Cursor",
        file=lambda where: where.home / ".cursor" / "mcp.json",
        path=("mcpServers",),
        started=_typed,
        connected=lambda remote: {"url": remote.url} | remote.headers("${env:NAME}"),
    ),
    "vscode": KnownClient(
        title="VS Code",
        file=lambda where: where.config() / "Code" / "User" / "mcp.json",
        path=("servers",),
        started=_typed,
        connected=lambda remote: {"type": "http", "url": remote.url} | remote.headers("${env:NAME}"),
    ),
    "codex": KnownClient(
        title="Codex",
        file=lambda where: where.folder("CODEX_HOME", ".codex") / "config.toml",
        path=("mcp_servers",),
        started=_plain,
        connected=_codex_remote,
        format="toml",
    ),
    "opencode": KnownClient(
        title="OpenCode",
        file=_opencode_file,
        path=("mcp",),
        started=lambda server: {"type": "local", "command": [server.command, *server.args]},
        connected=lambda remote: {"type": "remote", "url": remote.url} | remote.headers("{env:NAME}"),
    ),
    "gemini-cli": KnownClient(
        title="Gemini CLI",
        file=lambda where: where.home / ".gemini" / "settings.json",
        path=("mcpServers",),
        started=_plain,
        connected=lambda remote: {"httpUrl": remote.url} | remote.headers("${NAME}"),
    ),
    "windsurf": KnownClient(
        title="Windsurf",
        file=lambda where: where.home / ".codeium" / "windsurf" / "mcp_config.json",
        path=("mcpServers",),
        started=_plain,
        connected=lambda remote: {"serverUrl": remote.url} | remote.headers("${env:NAME}"),
    ),
    "zed": KnownClient(
        title="Zed",
        file=_zed_file,
        path=("context_servers",),
        started=_plain,
        connected=None,
    ),
}
