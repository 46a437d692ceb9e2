"""What every test here needs: an engine, and the images that ``make image`` built."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest

from tests.image.containers import DOCKER, PODMAN, Container, as_compose_starts_it, engine, reference, running

TARGETS = ("slim", "full")


@cache
def _absent(target: str) -> str | None:
    if not (PODMAN or DOCKER):
        return "neither podman nor Docker is here"
    looked = engine("image", "inspect", reference(target), check=False)
    if looked.returncode:
        return f"{reference(target)} is not here (make image): {looked.stderr.splitlines()[-1]}"
    return None


def built(target: str) -> str:
    if reason := _absent(target):
        pytest.skip(reason)
    return reference(target)


@pytest.fixture(scope="module", params=TARGETS)
def image(request: pytest.FixtureRequest) -> str:
    """Each of the two."""
    return built(request.param)


@pytest.fixture(scope="module")
def slim() -> str:
    return built("slim")


@pytest.fixture(scope="module")
def full() -> str:
    return built("full")


@pytest.fixture(scope="module")
def server(image: str) -> Iterator[Container]:
    """One that runs as compose.yaml starts it, with a vault ``main``; for what changes nothing of it."""
    with running(image, *as_compose_starts_it(), STRONGROOM_AUTH__FIRST_TOKEN_TTL="none") as container:
        container.wait_ready()
        yield container


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [each for outcome in ("passed", "failed") for each in terminalreporter.getreports(outcome)]
    if not any(each.nodeid.startswith("tests/image/") for each in reports):  # another run that looked in here
        return
    for image in (reference(target) for target in TARGETS if _absent(target) is None):
        terminalreporter.write_line(f"{image}: {size_of(image) / 1e6:.0f} MB in layers of")
        for line in layers_of(image):
            terminalreporter.write_line(f"  {line}")


def size_of(image: str) -> int:
    """Bytes, unpacked."""
    return int(json.loads(engine("image", "inspect", image).stdout)[0]["Size"])


def layers_of(image: str) -> list[str]:
    """A line for each layer that holds anything, the newest first: its size, and what made it."""
    shown = engine("history", "--no-trunc", "--format={{.Size}}\t{{.CreatedBy}}", image).stdout
    split = [line.split("\t", 1) for line in shown.splitlines()]
    return [
        f"{size:>8}  {made_by.removeprefix('/bin/sh -c ')[:90]}" for size, made_by in split if size not in {"0B", "0 B"}
    ]
