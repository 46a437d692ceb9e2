"""Whom a question to an issuer is trusted to: its certificate, not its address."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from auth.issuer_requests import IssuerClient, NoAnswer, open_client
from tests.server.http.certified import write_pair
from tests.server.oauth.outside_issuer import DISCOVERY, OutsideIssuer


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[OutsideIssuer]:
    running = OutsideIssuer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*write_pair(tmp_path, dns=["localhost"]))
    running.server.socket = context.wrap_socket(running.server.socket, server_side=True)
    yield running
    running.close()


async def ask(client: IssuerClient, url: str) -> object:
    try:
        return await client.get_json(url, 10_000)
    finally:
        await client.close()


async def test_an_issuer_is_known_by_its_certificate_alone(issuer: OutsideIssuer, tmp_path: Path) -> None:
    there = f"https://localhost:{issuer.server.server_port}{DISCOVERY}"
    found = await ask(open_client(there, str(tmp_path / "cert.pem")), there)
    assert isinstance(found, dict)
    with pytest.raises(NoAnswer):  # nobody vouches for it
        await ask(open_client(there, None), there)
    elsewhere = there.replace("localhost", "127.0.0.1")
    with pytest.raises(NoAnswer):  # it is the certificate of another name
        await ask(open_client(elsewhere, str(tmp_path / "cert.pem")), elsewhere)
    with pytest.raises(FileNotFoundError):
        open_client(there, str(tmp_path / "gone.pem"))


async def test_no_proxy_of_the_environment_is_asked(
    issuer: OutsideIssuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    there = f"https://localhost:{issuer.server.server_port}{DISCOVERY}"
    found = await ask(open_client(there, str(tmp_path / "cert.pem")), there)
    assert isinstance(found, dict)
