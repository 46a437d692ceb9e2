"""With a certificate the server goes by the names in it, as its clients call it.

Covers server.http.app.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from starlette.applications import Starlette

from ops.settings import OpsSettings
from server.http import process
from server.http.app import allowed_hosts, public_url
from server.http.certificate import certificate_end, certificate_names
from server.http.options import ServeOptions
from server.http.process import DrainingServer, uvicorn_config
from server.http.request_head import Refusal, RequestHead
from server.listening_socket import bind
from tests.server.http.certified import write_pair
from tests.server.http.serving import settings_of
from tests.work import PATIENCE_S
from vaults.errors import InvalidArgument

DNS = ("mem.example", "*.team.example")
ADDRESSES = ("127.0.0.1", "::1")


def refusal_of(host: str, hosts: tuple[str, ...]) -> str | None:
    scope = {"path": "/", "headers": [(b"host", host.encode())]}
    try:
        RequestHead.of(scope).check_origin(hosts, ())
    except Refusal as refusal:
        return refusal.reason
    return None


def hosts_of(folder: Path, *dns: str, address: str = "0.0.0.0") -> tuple[tuple[str, ...], str]:
    cert, key = write_pair(folder, dns, ADDRESSES)
    settings = settings_of(folder, **{"server.tls_cert": str(cert), "server.tls_key": str(key)}).settings
    url = public_url(settings, address, 8700)
    return allowed_hosts(settings, url), url


def test_the_names_are_those_a_client_checks(tmp_path: Path) -> None:
    cert, _ = write_pair(tmp_path, DNS, ADDRESSES)
    assert certificate_names(str(cert)) == (*DNS, "127.0.0.1", "[::1]")


def test_without_alternative_names_there_are_none(tmp_path: Path) -> None:
    assert certificate_names(str(write_pair(tmp_path)[0])) == ()


def test_a_file_that_is_no_certificate_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "not.pem").write_text("no")
    for name in ("not.pem", "absent.pem"):
        with pytest.raises(InvalidArgument, match="tls_cert"):
            certificate_names(str(tmp_path / name))
        with pytest.raises(InvalidArgument, match="tls_cert"):
            certificate_end(str(tmp_path / name))


def test_a_chain_ends_with_the_first_of_its_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    long = write_pair(tmp_path, days=90)[0].read_bytes()
    short = write_pair(tmp_path / "a", days=3)[0]
    end = x509.load_pem_x509_certificate(short.read_bytes()).not_valid_after_utc.timestamp()
    chain = tmp_path / "chain.pem"
    chain.write_bytes(long + short.read_bytes())
    assert certificate_end(str(chain)) == certificate_end(str(short)) == end


async def test_the_end_that_is_told_is_that_of_the_certificate_in_use(tmp_path: Path) -> None:
    cert, key = write_pair(tmp_path, addresses=["127.0.0.1"], days=3)
    told, opens, opened = asyncio.Queue[float](), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        opens.set()
        await opened.wait()
        yield {"certificate": told.put_nowait, "reload": lambda: told.put_nowait(0)}

    options = ServeOptions(tls_cert=str(cert), tls_key=str(key))
    server = DrainingServer(uvicorn_config(Starlette(lifespan=lifespan), options), options)
    listener = bind("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.wait_for(opens.wait(), PATIENCE_S)
        write_pair(tmp_path, addresses=["127.0.0.1"], days=30)
        first = certificate_end(str(cert))
        server.hang_up()  # while the server starts
        asyncio.get_running_loop().call_soon(opened.set)
        assert await asyncio.wait_for(told.get(), PATIENCE_S) == first
        old = cert.read_bytes()
        write_pair(tmp_path, addresses=["127.0.0.1"], days=90)
        new = cert.read_bytes()
        cert.write_bytes(old)
        server.hang_up()  # half of a pair: the one before is still in use
        assert await asyncio.wait_for(told.get(), PATIENCE_S) == 0
        cert.write_bytes(new)
        server.hang_up()
        assert await asyncio.wait_for(told.get(), PATIENCE_S) == certificate_end(str(cert)) > first
    finally:
        server.should_exit = True
        await serving
        listener.close()


async def test_an_application_that_was_still_starting_is_told_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_exit_now", lambda: None)  # it would end the tests once the grace period is over
    opens, opened, drained = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[dict[str, Any]]:
        opens.set()
        await opened.wait()
        yield {"drain": drained.set}

    options = ServeOptions(ops=OpsSettings(shutdown_grace_s=1))
    server = DrainingServer(uvicorn_config(Starlette(lifespan=lifespan), options), options)
    with bind("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await asyncio.wait_for(opens.wait(), PATIENCE_S)
        server.drain()
        asyncio.get_running_loop().call_later(0, opened.set)
        await asyncio.wait_for(serving, PATIENCE_S)
    assert drained.is_set(), "or its streams would be waited for"


@pytest.mark.parametrize(
    "host", ["mem.example", "MEM.example:8700", "a.team.example", "b-1.Team.example:443", "127.0.0.1:8700", "[::1]:1"]
)
def test_a_name_of_the_certificate_is_an_allowed_host(tmp_path: Path, host: str) -> None:
    assert refusal_of(host, hosts_of(tmp_path, *DNS)[0]) is None


@pytest.mark.parametrize(
    "host",
    [
        "team.example",
        "a.b.team.example",
        ".team.example",
        "*.team.example",
        "a.team.example.evil",
        "a.team.example:",
        "a.team.example:80x",
        "xmem.example",
        "mem.example.",
        "common.example",
    ],
)
def test_no_other_name_is(tmp_path: Path, host: str) -> None:
    assert refusal_of(host, hosts_of(tmp_path, *DNS)[0]) == "host"


def test_a_wildcard_of_the_settings_means_one_label_too() -> None:
    assert refusal_of("a.x.example", ("*.x.example",)) is None
    assert refusal_of("a.x.example:8700", ("*.x.example",)) == "host"
    assert refusal_of("a.x.example:8700", ("*.x.example:*",)) is None


def test_a_server_on_every_address_calls_itself_by_the_certificate(tmp_path: Path) -> None:
    assert hosts_of(tmp_path, "*.team.example", "mem.example")[1] == "https://mem.example:8700"
    assert hosts_of(tmp_path, "mem.example", address="10.0.0.1")[1] == "https://10.0.0.1:8700"


@pytest.mark.e2e
def test_the_documented_line_serves_whoever_trusts_the_certificate(tmp_path: Path) -> None:
    cert, key = write_pair(tmp_path, ["mem.example", "localhost"])
    command = [sys.executable, "-m", "server", "serve", "--host", "0.0.0.0", "--tls-cert", cert, "--tls-key", key]
    command += ["--data", tmp_path / "data", "--port", "0", "--metrics-port", "0"]
    env = {**os.environ, "STRONGROOM_EMBEDDING__ENGINE": "off", "STRONGROOM_STORAGE__RESERVE_MB": "0"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            port = next(
                found[1] for line in process.stdout if (found := re.search(r"serves https://mem\.example:(\d+)/", line))
            )
            for host, status in (("mem.example", 401), ("other.example", 421)):
                asked = urllib.request.Request(
                    f"https://localhost:{port}/v/main/mcp", data=b"{}", headers={"Host": f"{host}:{port}"}
                )
                with pytest.raises(urllib.error.HTTPError) as caught:
                    urllib.request.urlopen(
                        asked, timeout=PATIENCE_S, context=ssl.create_default_context(cafile=str(cert))
                    )
                assert caught.value.code == status
                body = json.loads(caught.value.read())
            assert "server.allowed_hosts" in body["error"]["message"]
        finally:
            process.terminate()
