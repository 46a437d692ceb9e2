"""Which addresses lead somewhere, and that each is spelled in one way only."""

from __future__ import annotations

import pytest

from server.http.vault_paths import VaultPath, parse_vault_path


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/mcp", VaultPath("mcp")),
        ("/v/main/mcp", VaultPath("mcp", "main")),
        ("/v/main/tools/recall", VaultPath("tool", "main", "recall")),
        ("/v/main/tools/", VaultPath("tool", "main", "")),
        ("/v/main/tools/..", VaultPath("tool", "main", "..")),
        ("/v/tools/tools/tools", VaultPath("tool", "tools", "tools")),
        ("/v/main/openapi.json", VaultPath("openapi", "main")),
    ],
)
def test_what_is_at_an_address(path: str, place: VaultPath) -> None:
    assert parse_vault_path(path) == place


@pytest.mark.parametrize(
    "path",
    [
        "/v/main", "/v/main/", "/v/main/tools", "/v/main/tools/recall/", "/v/main/tools/../mcp",
        "/v/main//tools/recall",        "/v/main/tools/a/b", "/v/a/b/tools/recall", "//v/main/tools/recall",
        "/tools/recall", "/v/main/openapi.json/",
        "/v/main/openapiXjson", "/openapi.json", "/v/main/mcp/tools/recall", "/v/main/tools/recall\n/",
    ],
)  # fmt: skip
def test_nothing_is_anywhere_else(path: str) -> None:
    assert parse_vault_path(path) is None
