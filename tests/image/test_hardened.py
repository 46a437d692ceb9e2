"""Started as compose.yaml starts it: nobody special, a root that is not written, no capabilities; and it serves."""

from __future__ import annotations

import base64
import json

import pytest

from tests.e2e.test_working_day import asking
from tests.image.containers import USER, Container, engine, eventually

pytestmark = pytest.mark.image

PAGE = base64.b64encode(b"<html><body><h1>Harbour</h1><p>Ships enter at high water.</p></body></html>").decode()


def test_every_process_is_nobody_special_and_has_no_capability(server: Container) -> None:
    found = server.inside("processes")
    assert len(found) > 2
    assert {each["Uid"] for each in found} == {"\t".join([str(USER)] * 4)}
    assert {int(each[name], 16) for each in found for name in ("CapEff", "CapPrm", "CapInh", "CapBnd")} == {0}
    assert {each["NoNewPrivs"] for each in found} == {"1"}
    assert {each["Seccomp"] for each in found} == {"2"}, "system calls are filtered"


def test_only_data_and_scratch_space_can_be_written(server: Container) -> None:
    assert server.inside("writable") == ["/data", "/tmp"]


def test_the_data_is_for_nobody_else(server: Container) -> None:
    assert server.inside("shared") == []


async def test_what_is_remembered_is_found_by_its_meaning(server: Container) -> None:
    async with server.client() as client:
        ask = asking(client)
        await ask("remember", content="The nightly database copy starts at two in the morning.", type="fact")
        found = await ask("recall", query="When does the backup run?", mode="semantic")
        assert "two in the morning" in json.dumps(found)


async def test_a_document_is_read_in_a_process_of_its_own(server: Container) -> None:
    async with server.client() as client:
        told = await asking(client)("ingest", data=PAGE, name="harbour.html")
        assert told["counts"] == {"new": 1}, told


def probed(server: Container) -> int:
    """What the image's own health check ends with."""
    (said,) = json.loads(engine("inspect", server.name).stdout)
    kind, *words = said["Config"]["Healthcheck"]["Test"]
    assert kind == "CMD"
    return server.execute(*words, check=False).returncode


def test_the_health_check_passes_and_fails_while_the_server_hangs(server: Container) -> None:
    assert probed(server) == 0
    server.inside("send", "SIGSTOP")
    try:
        assert probed(server) == 1
    finally:
        server.inside("send", "SIGCONT")
    eventually(lambda: probed(server) == 0, server.logs)


def test_metrics_answer_inside_and_are_published_nowhere(server: Container) -> None:
    assert "strongroom_" in server.inside("metrics")
    assert "9700" not in engine("port", server.name).stdout
