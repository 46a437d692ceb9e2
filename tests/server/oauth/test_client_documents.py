"""Clients that are described by a document at the address that is their id. Covers server.oauth.client_documents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpcore2
import pytest

from auth.people.attempts import Attempts
from server.oauth.application import make_sign_in
from server.oauth.client_documents import SIZE_LIMIT, ClientDocuments, is_document_address
from tests.server.oauth.desk import CALLBACK, Desk, authorize_address, open_desk
from vaults.listed_hosts import ListedHosts

HOST = "client.example"
ID = f"https://{HOST}/oauth/metadata.json"
GOOD: dict[str, Any] = {"client_id": ID, "client_name": "Described", "redirect_uris": [CALLBACK]}
JSON = {"content-type": "application/json"}


@dataclass
class Net:
    """What stands for the network: the one answer there is, and whom it was asked for."""

    answer: bytes = b""
    addresses: Sequence[str] = ("93.184.215.14",)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.addresses

    def answers(self, document: Any, status: int = 200, **headers: str) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        sent = {**JSON, "content-length": str(len(body)), "connection": "close", **headers}
        rows = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in sent.items())
        self.answer = f"HTTP/1.1 {status} X\r\n{rows}\r\n".encode() + body


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Net:
    made = Net()
    monkeypatch.setattr(httpcore2, "AnyIOBackend", lambda: httpcore2.AsyncMockBackend([made.answer]))
    return made


@pytest.fixture
async def desk(tmp_path: Path, net: Net) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as plain:
        attempts = Attempts(lambda: plain.clock[0])
        documents = ClientDocuments(ListedHosts((HOST,)), attempts, net.resolve)
        parts = replace(plain.parts, documents=documents, attempts=attempts)
        await plain.person()
        yield Desk(parts, plain.clock, make_sign_in(parts))


async def test_a_described_client_is_let_in_and_read_once_an_hour(desk: Desk, net: Net) -> None:
    net.answers(GOOD)
    browser = desk.browser()
    await browser.sign_in()
    page = await browser.open(authorize_address(ID))
    assert "Described" in page.text
    assert f"https://{HOST}" in page.text
    tokens = await desk.login(browser, ID)
    assert net.asked == [HOST]
    desk.clock[0] += 3601
    net.answers({**GOOD, "client_name": "Renamed"})
    assert "Renamed" in (await browser.open(authorize_address(ID))).text
    assert net.asked == [HOST, HOST]
    desk.clock[0] += 3601
    net.answers(b"", status=500)
    assert (await browser.open(authorize_address(ID))).status_code == 200  # known as it was
    assert (await desk.refresh(ID, tokens["refresh_token"])).status_code == 200
    async with desk.http() as http:
        described = (await http.get("/.well-known/oauth-authorization-server")).json()
    assert described["client_id_metadata_document_supported"] is True


@pytest.mark.parametrize(
    ("document", "status", "headers"),
    [
        ({**GOOD, "client_id": f"{ID}/"}, 200, {}),
        ({**GOOD, "client_secret": "x"}, 200, {}),
        ({**GOOD, "token_endpoint_auth_method": "private_key_jwt"}, 200, {}),
        ({**GOOD, "redirect_uris": []}, 200, {}),
        ({**GOOD, "redirect_uris": "https://client.example/"}, 200, {}),
        ({**GOOD, "redirect_uris": ["http://client.example/cb"]}, 200, {}),
        ({**GOOD, "client_name": 7}, 200, {}),
        ({**GOOD, "padding": "x" * SIZE_LIMIT}, 200, {}),
        ([GOOD], 200, {}),
        (b"[" * 10_000, 200, {}),
        (b"\xff\xfe", 200, {}),
        (GOOD, 302, {"location": ID}),
        (GOOD, 404, {}),
        (GOOD, 200, {"content_type": "text/html"}),
        (GOOD, 200, {"content_encoding": "gzip"}),
    ],
)
async def test_what_does_not_describe_the_client_makes_none(
    desk: Desk, net: Net, document: Any, status: int, headers: dict[str, str]
) -> None:
    net.answers(document, status, **headers)
    for _ in range(2):  # the second is not even looked at
        answer = await desk.browser().open(authorize_address(ID))
        assert answer.status_code == 400
        assert "location" not in answer.headers
    assert net.asked == [HOST]


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.5", "93.184.215.14"], ["::1"], ["169.254.169.254"], []])
async def test_a_host_that_leads_inside_is_not_asked(desk: Desk, net: Net, addresses: list[str]) -> None:
    net.answers(GOOD)
    net.addresses = addresses
    assert (await desk.browser().open(authorize_address(ID))).status_code == 400


@pytest.mark.parametrize(
    "client_id",
    [
        "https://other.example/x.json", f"http://{HOST}/x.json", f"https://{HOST}/", f"https://{HOST}",
        f"https://user@{HOST}/x", f"https://{HOST}/x#y", f"https://{HOST}/a/../x", f"https://{HOST}:444/x",
        f"https://{HOST}\\@other.example/x", "https://127.0.0.1/x", f"https://{HOST.upper()}/x",
    ],
)  # fmt: skip
async def test_only_listed_hosts_are_asked_and_in_one_way_of_writing(desk: Desk, net: Net, client_id: str) -> None:
    net.answers({**GOOD, "client_id": client_id})
    assert (await desk.browser().open(authorize_address(client_id))).status_code == 400
    assert net.asked == []


async def test_looks_are_counted_by_who_causes_them(desk: Desk, net: Net) -> None:
    net.answers(b"")
    for number in range(25):
        await desk.browser().open(authorize_address(f"https://{HOST}/{number}"))
    assert len(net.asked) == 20


def test_a_registered_client_is_no_address() -> None:
    assert not is_document_address("8aba1617-a518-440c-a1f6-fc8777400623")
    assert is_document_address(ID)
