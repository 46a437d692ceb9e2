from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from auth.keys import open_key_ring
from server.http.metadata import metadata_routes

URL = "https://mem.example"
BASE = "/.well-known/oauth-protected-resource"


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    ring = open_key_ring(tmp_path / "keys")
    return TestClient(Starlette(routes=metadata_routes(URL, ["https://id.example"], ring.jwks)))


@pytest.mark.parametrize("path", ["", "/mcp", "/v/main/mcp", "/v/no-such-vault/mcp"])
def test_the_resource_is_the_address_the_document_stands_for(client: TestClient, path: str) -> None:
    answer = client.get(f"{BASE}{path}")
    assert answer.status_code == 200
    assert answer.json() == {
        "resource": f"{URL}{path}",
        "authorization_servers": ["https://id.example"],
        "scopes_supported": ["vault:read"],
        "bearer_methods_supported": ["header"],
        "resource_name": "strongroom",
    }
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "path", ["/v/a%22b/mcp", "/v/%2e%2e/mcp", "/v/a%0d%0ab/mcp", "/v//mcp", "/v/a/b/mcp", "/v/a/mcp/x"]
)
def test_an_address_no_vault_can_have_has_no_document(client: TestClient, path: str) -> None:
    assert client.get(f"{BASE}{path}").status_code == 404


def test_without_outside_issuers_none_are_named() -> None:
    client = TestClient(Starlette(routes=metadata_routes(URL, [], None)))
    assert "authorization_servers" not in client.get(BASE).json()
    assert client.get("/.well-known/jwks.json").json() == {"keys": []}


def test_the_keys_are_published_without_their_private_halves(client: TestClient) -> None:
    (key,) = client.get("/.well-known/jwks.json").json()["keys"]
    assert (key["kty"], "d" in key) == ("OKP", False)


def test_the_documents_are_read_only(client: TestClient) -> None:
    for path in (BASE, "/.well-known/jwks.json"):
        assert client.post(path).status_code == 405
