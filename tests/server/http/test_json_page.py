"""What docs/json.md shows works as it stands there, over a real socket. Covers server.http.json_route."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.server.http.serving import Site, served
from tests.work import PROGRAM_PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "json.md").read_text(encoding="utf-8")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with served(tmp_path_factory.mktemp("page")) as running:
        yield running


async def run(site: Site, language: str, *program: str) -> str:
    """What the only block in a language prints, run as a program of its own."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    told = {"STRONGROOM_URL": site.url, "STRONGROOM_TOKEN": site.tokens["owner"]}
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()} | told
    done = await asyncio.to_thread(
        subprocess.run,
        [*program, block],
        capture_output=True,
        text=True,
        env=environment,
        timeout=PROGRAM_PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("curl") is None, reason="needs bash and curl")
async def test_the_shell_snippets_work(site: Site) -> None:
    said = await run(site, "bash", "bash", "-euc")
    assert "The crane on pier 4 is out of service until May" in said
    assert '"openapi": "3.1.0"' in said


async def test_the_python_client_works(site: Site) -> None:
    said = await run(site, "python", sys.executable, "-c")
    assert "The crane on pier 4 is repaired" in said
    assert "422 invalid_argument: Validation error: limit is not an argument of this tool" in said
