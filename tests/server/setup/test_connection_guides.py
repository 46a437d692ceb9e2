"""What is said of each client is what that client reads, and holds no token."""

from __future__ import annotations

import json
import tomllib

from server.setup.clients.known_clients import CLIENTS
from server.setup.connection_guides import list_guides

ENDPOINT = "https://mem.example/v/main/mcp"


def test_what_is_put_in_by_hand_is_what_the_client_reads() -> None:
    guides = {each.name: each for each in list_guides(ENDPOINT, None)}
    assert guides.keys() == CLIENTS.keys()
    assert json.loads(guides["vscode"].content) == {"servers": {"strongroom": {"type": "http", "url": ENDPOINT}}}
    assert tomllib.loads(guides["codex"].content) == {"mcp_servers": {"strongroom": {"url": ENDPOINT}}}
    assert guides["codex"].file == "~/.codex/config.toml"
    assert guides["zed"].content == ""
    assert f"strongroom connect zed --url {ENDPOINT} --token-file ~/.strongroom-token" in guides["zed"].commands


def test_what_is_typed_is_quoted() -> None:
    guides = {each.name: each for each in list_guides("https://mem.example/v/a'b;c/mcp", ["--data", "/my data"])}
    assert """--url 'https://mem.example/v/a'"'"'b;c/mcp'""" in guides["cursor"].commands
    assert guides["zed"].commands == "strongroom connect zed --data '/my data'"
