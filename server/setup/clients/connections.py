"""Adding a server to the configuration of a client, and taking it out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from server.setup.clients.config_edits import ConfigEdit, ConnectionChange, Edited, undo_edit, write_edit
from server.setup.clients.jsonc_edits import drop_json, put_json, read_json
from server.setup.clients.known_clients import KnownClient
from server.setup.clients.toml_edits import drop_toml, put_toml, read_toml


@dataclass(frozen=True, slots=True)
class ConfigFormat:
    """How a kind of file is read and edited. Each raises ``ValueError`` with the place of what is wrong."""

    read: Callable[[str], dict[str, Any]]
    put: Callable[[str, tuple[str, ...], dict[str, Any]], str]
    drop: Callable[[str, tuple[str, ...]], str]


FORMATS = {
    "json": ConfigFormat(read_json, put_json, drop_json),
    "toml": ConfigFormat(read_toml, put_toml, drop_toml),
}


def show_entry(client: KnownClient, name: str, entry: dict[str, Any]) -> str:
    """A whole file of that client with this one server."""
    return FORMATS[client.format].put("", (*client.path, name), entry)


def connect_client(client: KnownClient, path: Path, name: str, entry: dict[str, Any]) -> ConnectionChange:
    """Have the file name this server. Raises ``Conflict`` if the file cannot be read as what it should be, or has been
    changed meanwhile; it is untouched then."""
    return write_edit(_edit_of(client, name), path, entry)


def disconnect_client(client: KnownClient, path: Path, name: str) -> ConnectionChange:
    """Take the server out of the file: back to the bytes before, or, where something else has changed since, to what
    stood there for this one. Raises ``NotFound``, ``Conflict``."""
    return undo_edit(_edit_of(client, name), path)


def _edit_of(client: KnownClient, name: str) -> ConfigEdit:
    return ConfigEdit(
        name=name,
        what=f"server {name}",
        read=FORMATS[client.format].read,
        find=partial(_find, client, name),
        put=partial(_put, client, name),
        drop=partial(_drop, client, name),
        is_ours=_is_ours,
        prune=lambda content: _pruned(content, (*client.container(content), name)),
    )


def _find(client: KnownClient, name: str, content: dict[str, Any]) -> dict[str, Any] | None:
    servers: Any = content
    for key in client.container(content):
        servers = servers.get(key) if isinstance(servers, dict) else None
    found = servers.get(name) if isinstance(servers, dict) else None
    return found if isinstance(found, dict) else None


def _put(client: KnownClient, name: str, text: str, entry: dict[str, Any]) -> Edited:
    content = FORMATS[client.format].read(text)
    path = (*client.container(content), name)
    return FORMATS[client.format].put(text, path, entry), _merged(content, path, entry)


def _drop(client: KnownClient, name: str, text: str) -> Edited:
    content = FORMATS[client.format].read(text)
    return FORMATS[client.format].drop(text, (*client.container(content), name)), content


def _is_ours(entry: dict[str, Any] | None) -> bool:
    """Whether an entry has one of the forms that are written here: what starts ``strongroom stdio``, or the address of
    a vault."""
    values = [] if entry is None else [*entry.values()]
    words = [word for value in values if isinstance(value, list) for word in value]
    return "stdio" in words or any(isinstance(value, str) and value.endswith("/mcp") for value in values)


def _merged(content: dict[str, Any], path: tuple[str, ...], value: dict[str, Any]) -> dict[str, Any]:
    key, rest = path[0], path[1:]
    return {**content, key: _merged(content.get(key, {}), rest, value) if rest else value}


def _pruned(content: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The content without what stands at ``path``, and without what holds nothing else."""
    key, rest = path[0], path[1:]
    inner = _pruned(content.get(key, {}), rest) if rest else {}
    return {each: value for each, value in content.items() if each != key} | ({key: inner} if inner else {})
