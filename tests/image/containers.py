"""Containers of the image, started with podman or Docker as an operator starts them, and looked at from outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.server.http.serving import browser
from tests.work import PATIENCE_S

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
SERVER = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["server"]

PODMAN, DOCKER = shutil.which("podman"), shutil.which("docker")
ENGINE = PODMAN or DOCKER or "podman"
ENVIRONMENT = {"CONTAINERS_CONF": str(Path(__file__).with_name("containers.conf")), **os.environ}
# Some systems let nobody have higher ones, which podman would give.
ULIMITS = ("--ulimit=nofile=1024:4096", "--ulimit=nproc=4096:4096")
USER = 10001
PROBE_S = 5.0


def reference(target: str) -> str:
    return f"strongroom:{VERSION}-{target}"


INSIDE = Path(__file__).with_name("inside.py").read_text()


def engine(*words: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return run(ENGINE, *words, check=check, stdin=stdin)


def run(*command: str, check: bool = True, stdin: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
        check=False,
        cwd=cwd,
        env=ENVIRONMENT,
    )
    assert not check or done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done


def look_inside(image: str, function: str, *arguments: str) -> Any:
    """What a function of inside.py finds in an image."""
    words = ("run", "--rm", "--interactive", *ULIMITS, "--entrypoint=python", image, "-", function, *arguments)
    return json.loads(engine(*words, stdin=INSIDE).stdout)


def as_compose_starts_it() -> list[str]:
    """The options of ``run`` that say what compose.yaml says of the server."""
    limits = [f"--ulimit={name}={value}" for name, value in SERVER["ulimits"].items()]
    options = [
        *(f"--cap-drop={each}" for each in SERVER["cap_drop"]),
        *(f"--security-opt={each}" for each in SERVER["security_opt"]),
        *(f"--tmpfs={each}" for each in SERVER["tmpfs"]),
        f"--pids-limit={SERVER['pids_limit']}",
        f"--memory={SERVER['mem_limit']}",
        *limits,
    ]
    return [*options, *(["--init"] if SERVER["init"] else []), *(read_only() if SERVER["read_only"] else [])]


def read_only() -> list[str]:
    """A root that cannot be written; podman would put file systems in memory on /tmp, /run and /var/tmp."""
    return ["--read-only", *(["--read-only-tmpfs=false"] if PODMAN else [])]


@dataclass(frozen=True)
class Container:
    name: str
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def execute(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return engine("exec", self.name, *words, check=check)

    def inside(self, function: str, *arguments: str) -> Any:
        """What a function of inside.py finds in there."""
        told = engine("exec", "--interactive", self.name, "python", "-", function, *arguments, stdin=INSIDE)
        return json.loads(told.stdout)

    def logs(self) -> str:
        shown = engine("logs", self.name, check=False)
        return shown.stdout + shown.stderr

    def state(self) -> dict[str, Any]:
        """``Running``, ``ExitCode``, ``OOMKilled`` and so on."""
        found: dict[str, Any] = json.loads(engine("inspect", self.name).stdout)[0]["State"]
        return found

    def stop(self) -> int:
        """What it ends with on the signal that the image names, and no other."""
        engine("stop", f"--time={PATIENCE_S:.0f}", self.name)
        return int(self.state()["ExitCode"])

    def kill(self) -> None:
        engine("kill", "--signal=KILL", self.name)
        assert self.wait_ended() == 137

    def start(self) -> None:
        engine("start", self.name)
        self.wait_ready()

    def restart(self) -> None:
        assert self.stop() == 0, self.logs()
        self.start()

    def call(self, tool: str, vault: str = "main", **arguments: Any) -> Any:
        """What a tool answers to somebody in the container."""
        told = self.execute("strongroom", "call", tool, json.dumps(arguments), "--vault", vault)
        return json.loads(told.stdout)

    def answers(self) -> bool:
        try:
            # A port of a container that is about to end or to start may take a connection and leave it there.
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=PROBE_S) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.HTTPError):
            return False

    def wait_ready(self) -> None:
        eventually(lambda: self.answers() or not self.state()["Running"], self.logs)
        assert self.answers(), f"ended with {self.state()['ExitCode']}: {self.logs()}"

    def wait_ended(self) -> int:
        eventually(lambda: not self.state()["Running"], self.logs)
        return int(self.state()["ExitCode"])

    def token(self, vault: str = "main", role: str = "admin") -> str:
        words = ("token", "create", "--subject", "visitor", "--vault", vault, "--role", role, "--json")
        told: str = json.loads(self.execute("strongroom", *words).stdout)["token"]
        return told

    @asynccontextmanager
    async def client(self, vault: str = "main", token: str | None = None) -> AsyncIterator[Client]:
        """Somebody outside, by default with a new token of an admin."""
        async with browser(headers={"authorization": f"Bearer {token or self.token(vault)}"}) as http:
            transport = streamable_http_client(f"{self.url}/v/{vault}/mcp", http_client=http)
            async with Client(transport, cache=None) as client:
                yield client


def eventually(holds: Callable[[], Any], tell: Callable[[], str] = str, every_s: float = 0.1) -> None:
    """Wait until something outside holds, which says nothing when it does."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, f"it never came: {tell()}"
        time.sleep(every_s)


@contextmanager
def running(image: str, *options: str, command: tuple[str, ...] = (), **environment: str) -> Iterator[Container]:
    """A container in the background, which is not yet ready; removed in the end with its anonymous volumes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    container = Container(f"strongroom-test-{uuid4().hex[:8]}", port)
    given = [f"--env={name}={value}" for name, value in environment.items()]
    published = f"--publish=127.0.0.1:{port}:8700"
    try:
        engine("run", "--detach", "--name", container.name, published, *ULIMITS, *given, *options, image, *command)
        yield container
    finally:
        engine("rm", "--force", "--volumes", container.name, check=False)


@contextmanager
def volume(*options: str) -> Iterator[str]:
    """An empty named volume; what it is mounted from may be said with ``--opt``."""
    name = f"strongroom-test-{uuid4().hex[:8]}"
    engine("volume", "create", *options, name)
    try:
        yield name
    finally:
        engine("volume", "rm", "--force", name, check=False)


@contextmanager
def small_disk(place: Path, size: str, user: int = USER) -> Iterator[str]:
    """A folder of this machine that takes so much and no more, and is ``user``'s."""
    place.mkdir()
    options = f"size={size},uid={user},gid={user},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "small", place], check=True)
    try:
        yield str(place)
    finally:
        subprocess.run(["umount", place], check=True)


def place_of(name: str) -> Path:
    """Where a volume lies on this machine."""
    return Path(json.loads(engine("volume", "inspect", name).stdout)[0]["Mountpoint"])
