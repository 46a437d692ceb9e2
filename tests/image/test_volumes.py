"""What the data lies on: of somebody else, not to be written, full, of a version before; and no scratch space."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from mcp import Client

from tests.e2e.test_working_day import asking
from tests.image.containers import (
    USER,
    as_compose_starts_it,
    read_only,
    running,
    small_disk,
    volume,
)
from tests.image.test_hardened import PAGE
from tests.image.test_starting_and_ending import serves

pytestmark = pytest.mark.image

FOREIGN = 12345
AS_FOREIGN = f"--user={FOREIGN}:{FOREIGN}"
BALLAST = "/data/ballast"

EARLIER = sorted((Path(__file__).parent / "volumes").glob("*.tar.gz"))
"""Data folders that earlier versions wrote, named after the schemas they had. Each release adds its own: two vaults
with memories, notes and vectors, packed while no server runs, without ``keys/`` and ``.reserve``."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts disks, and gives folders to other users")


@as_root
async def test_it_serves_under_any_user_whose_the_data_is(slim: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", "256m", FOREIGN) as place:
        with running(slim, AS_FOREIGN, f"--volume={place}:/data", *as_compose_starts_it()) as container:
            container.wait_ready()
            await serves(container)
            assert {each["Uid"] for each in container.inside("processes")} == {"\t".join([str(FOREIGN)] * 4)}


def test_under_another_user_it_says_whose_the_data_is(slim: str) -> None:
    with running(slim, AS_FOREIGN, *as_compose_starts_it()) as container:
        assert container.wait_ended() == 2
        whose = f"it belongs to user {USER} with mode 0700, and this is user {FOREIGN}"
        assert f"--data /data cannot be entered: {whose}" in container.logs()


def test_an_empty_volume_that_cannot_be_written_is_said(slim: str) -> None:
    with volume() as name, running(slim, f"--volume={name}:/data:ro", *as_compose_starts_it()) as container:
        assert container.wait_ended() == 1
        told = "/data holds nothing yet and cannot be written: its disk is mounted to be read only"
        assert told in container.logs()


async def test_a_volume_with_data_that_cannot_be_written_is_read(slim: str) -> None:
    with volume() as name:
        with running(slim, f"--volume={name}:/data", *as_compose_starts_it()) as container:
            container.wait_ready()
            await serves(container)
            token = container.token()
            assert container.stop() == 0
        with running(slim, f"--volume={name}:/data:ro", *as_compose_starts_it()) as container:
            container.wait_ready()
            async with container.client(token=token) as client:
                assert "Tea is at four" in json.dumps(await asking(client)("recall", query="tea", mode="keyword"))
                assert await code_of_remembering(client) == "read_only"


async def test_without_scratch_space_it_serves_all_the_same(slim: str) -> None:
    with running(slim, *read_only(), "--cap-drop=ALL") as container:
        container.wait_ready()
        assert container.inside("writable") == ["/data"]
        await serves(container)
        async with container.client() as client:
            assert (await asking(client)("ingest", data=PAGE, name="harbour.html"))["counts"] == {"new": 1}


async def code_of_remembering(client: Client, size: int = 100) -> str | None:
    answer = await client.call_tool("remember", {"content": f"{'x ' * size} {os.urandom(8).hex()}", "type": "fact"})
    error = (answer.structured_content or {}).get("error", {})
    # The entry in the audit comes first: where it cannot be written, that is the error, and the full disk its reason.
    told: str | None = error.get("details", {}).get("reason") if error.get("code") == "audit_unavailable" else None
    return told or error.get("code")


@as_root
@pytest.mark.parametrize("reserve_mb", [0, 32], ids=["to the last byte", "to the reserve"])
async def test_a_volume_that_fills_up_refuses_writes_and_serves_on(slim: str, tmp_path: Path, reserve_mb: int) -> None:
    reserve = {"STRONGROOM_STORAGE__RESERVE_MB": str(reserve_mb)}
    with small_disk(tmp_path / "data", "96m") as place:
        with running(slim, f"--volume={place}:/data", *as_compose_starts_it(), **reserve) as container:
            container.wait_ready()
            await serves(container)
            async with container.client() as client:
                container.inside("fill", BALLAST)
                assert {await code_of_remembering(client, 20_000) for _ in range(5)} == {"storage_full"}
                assert "Tea is at four" in json.dumps(await asking(client)("recall", query="tea", mode="keyword"))
                assert container.answers()
                container.inside("remove", BALLAST)
                assert await code_of_remembering(client) is None
            assert container.stop() == 0


@as_root
async def test_started_on_a_full_volume_it_reads_and_comes_back_when_there_is_room(slim: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", "96m") as place:
        with running(slim, f"--volume={place}:/data", *as_compose_starts_it()) as container:
            container.wait_ready()
            await serves(container)
            token = container.token()
            container.inside("fill", BALLAST)
            container.kill()
            container.start()
            async with container.client(token=token) as client:
                assert "Tea is at four" in json.dumps(await asking(client)("recall", query="tea", mode="keyword"))
                assert await code_of_remembering(client, 20_000) == "storage_full"
                container.inside("remove", BALLAST)
                assert await code_of_remembering(client) is None


@as_root
def test_a_first_start_on_a_full_volume_says_so(slim: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", "64k") as place:
        with running(slim, f"--volume={place}:/data", *as_compose_starts_it()) as container:
            assert container.wait_ended() == 1
            assert "full" in container.logs()
            assert "Traceback" not in container.logs()


@as_root
@pytest.mark.parametrize("archive", EARLIER, ids=lambda path: path.name.removesuffix(".tar.gz"))
async def test_a_volume_of_an_earlier_version_is_brought_up_to_date(slim: str, tmp_path: Path, archive: Path) -> None:
    """With all that was in it, and a copy of each database as it was."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "data", filter="data")
    for path in (tmp_path / "data", *(tmp_path / "data").rglob("*")):
        shutil.chown(path, USER, USER)
    with running(slim, f"--volume={tmp_path / 'data'}:/data", *as_compose_starts_it()) as container:
        container.wait_ready()
        async with container.client() as client:
            ask = asking(client)
            found = await ask("recall", query="When does the backup run?", mode="semantic")
            assert "two in the morning" in json.dumps(found["hits"][0])
            assert (await ask("recall", query="berth harbour", mode="keyword", limit=20))["total"] == 6
            assert "six of them" in json.dumps(await ask("search", query="planword", mode="keyword"))
            await ask("remember", content="The office moved to the harbour.", type="fact")
        assert "tide tables" in json.dumps(container.call("recall", "research", query="tide", mode="keyword"))
        _, control, _, vault = archive.name.removesuffix(".tar.gz").split("-")
        assert (tmp_path / "data" / f"control.db.before-{control}").exists()
        for name in ("main", "research"):
            assert (tmp_path / "data" / "vaults" / name / f"vault.db.before-{vault}").exists()
        verified = container.execute("strongroom", "verify", check=False)
        assert verified.returncode == 0, verified.stdout
