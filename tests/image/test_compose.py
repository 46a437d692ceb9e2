"""compose.yaml, brought up by Compose or podman-compose: what is described at its top, and TLS by deploy/tls.yaml."""

from __future__ import annotations

import datetime
import ipaddress
import json
import re
import shlex
import shutil
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.request import urlopen
from uuid import uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.image.containers import (
    DOCKER,
    PODMAN,
    PROBE_S,
    ROOT,
    ULIMITS,
    USER,
    Container,
    engine,
    eventually,
    run,
)
from tests.image.test_hardened import probed
from tests.image.test_starting_and_ending import serves

pytestmark = pytest.mark.image

PORT = 8700


@cache
def _compose() -> tuple[str, ...]:
    """The command, or nothing: podman-compose, where podman is, from the version on that knows profiles."""
    if PODMAN and (found := shutil.which("podman-compose")):
        version = re.search(r"podman-compose\S* version\s+(\d+)\.(\d+)", run(found, "--version", check=False).stdout)
        known = version is not None and (int(version[1]), int(version[2])) >= (1, 1)
        return (found, "--podman-run-args", " ".join(ULIMITS)) if known else ()
    if DOCKER and run(DOCKER, "compose", "version", check=False).returncode == 0:
        return (DOCKER, "compose")
    return ()


@dataclass(frozen=True)
class Project:
    """A folder with the files that an operator has, and what Compose made of it."""

    folder: Path
    files: tuple[str, ...]

    def __call__(self, *words: str) -> str:
        files = [each for file in self.files for each in ("-f", file)]
        return run(*_compose(), *files, "-p", self.folder.name, *words, cwd=self.folder).stdout

    def server(self) -> Container:
        labels = [
            f"--filter=label=com.docker.compose.{each}" for each in (f"project={self.folder.name}", "service=server")
        ]
        return Container(engine("ps", "--all", *labels, "--format={{.Names}}").stdout.strip(), PORT)


@contextmanager
def up(folder: Path, *files: str) -> Iterator[Project]:
    project = Project(folder, files)
    project("up", "-d", "--no-build")
    try:
        yield project
    finally:
        project("down", "--volumes")


@pytest.fixture
def folder(slim: str, tmp_path: Path) -> Path:
    """Where the files lie; nothing else may hold the port that they publish."""
    # The older CNI forwards a published port into any network of a container, also into one that leads nowhere.
    if PODMAN and engine("info", "--format={{.Host.NetworkBackend}}").stdout.strip() != "netavark":
        pytest.skip("podman's networks are not netavark's")
    if not _compose():
        pytest.skip("neither Compose nor podman-compose 1.1 or newer is here")
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not tried.connect_ex(("127.0.0.1", PORT)):
            pytest.skip(f"port {PORT} is taken")
    place = tmp_path / f"strongroom-{uuid4().hex[:6]}"
    (place / "deploy" / "secrets").mkdir(parents=True)
    for file in ("compose.yaml", "deploy/tls.yaml"):
        shutil.copy(ROOT / file, place / file)
    (place / "deploy" / "secrets" / "grafana_password").write_text("unused")
    return place


def documented() -> list[str]:
    """The commands for the server that stand at the top of compose.yaml."""
    return re.findall(r"^# +docker compose exec server (.+)$", (ROOT / "compose.yaml").read_text(), re.MULTILINE)


async def test_it_serves_as_its_head_says_and_keeps_its_data(folder: Path) -> None:
    with up(folder, "compose.yaml") as project:
        project.server().wait_ready()
        for command in documented():
            project.server().execute(*shlex.split(command))
        await serves(project.server())
        project("down")
        project("up", "-d", "--no-build")
        project.server().wait_ready()
        assert project.server().call("memory_list", limit=1)["total"] == 1
        assert "research" in project("exec", "-T", "server", "strongroom", "vault", "list")


def test_what_it_forbids_is_forbidden(folder: Path) -> None:
    with up(folder, "compose.yaml") as project:
        server = project.server()
        server.wait_ready()
        found = server.inside("processes")
        assert {int(each["CapBnd"], 16) for each in found} == {0}
        assert {each["NoNewPrivs"] for each in found} == {"1"}
        assert server.inside("writable", "/run", "/var/tmp") == ["/data", "/tmp"]
        (said,) = json.loads(engine("inspect", server.name).stdout)
        assert said["HostConfig"]["ReadonlyRootfs"] is True
        assert said["HostConfig"]["Memory"] == 2 << 30
        assert said["HostConfig"]["PidsLimit"] == 256
        published = {key: value for key, value in said["NetworkSettings"]["Ports"].items() if value}
        assert published == {f"{PORT}/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(PORT)}]}
        assert probed(server) == 0


def test_with_a_certificate_it_speaks_tls_and_its_health_check_does(folder: Path) -> None:
    trusted = _certify(folder / "deploy" / "secrets")
    with up(folder, "compose.yaml", "deploy/tls.yaml") as project:
        eventually(lambda: _is_ready(trusted), project.server().logs)
        assert probed(project.server()) == 0


def _is_ready(trusted: ssl.SSLContext) -> bool:
    try:
        with urlopen(f"https://127.0.0.1:{PORT}/health/ready", timeout=PROBE_S, context=trusted) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _certify(secrets: Path) -> ssl.SSLContext:
    """A certificate for 127.0.0.1 and its key, as the server's user may read them; and who trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "strongroom")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1)).add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (secrets / "tls_cert.pem").write_bytes(pem)
    private = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (secrets / "tls_key.pem").write_bytes(key.private_bytes(*private))
    for file in secrets.iterdir():
        shutil.chown(file, USER, USER)
        file.chmod(0o400)
    return ssl.create_default_context(cadata=pem.decode())
