"""The units in deploy/systemd: systemd's own tool accepts them, and finds little that they leave open."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ops.settings import OpsSettings
from server.cli.app import MODULES

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
SYSTEM, USER = "strongroom.service", "strongroom-user.service"
MANAGER = {SYSTEM: "--system", USER: "--user", "strongroom-harvest.service": "--user"}
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")


def lines(unit: str) -> list[str]:
    return [line for line in (UNITS / unit).read_text().splitlines() if not line.startswith("#")]


def analyze(unit: Path, *words: str) -> str:
    """What systemd-analyze says about a unit, which must be fine to it."""
    (unit.parent / "run").mkdir(mode=0o700, exist_ok=True)
    ran = subprocess.run(
        ["systemd-analyze", *words, str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(unit.parent), "XDG_RUNTIME_DIR": str(unit.parent / "run")},
    )
    assert ran.returncode == 0, ran.stdout[-300:] + ran.stderr
    return ran.stdout + ran.stderr


@needs_systemd
@pytest.mark.parametrize("unit", MANAGER)
def test_systemd_takes_the_unit(unit: str, tmp_path: Path) -> None:
    installed = tmp_path / unit
    installed.write_text(re.sub(r"(ExecStart=)\S+", rf"\1{sys.executable}", (UNITS / unit).read_text()))
    assert analyze(installed, MANAGER[unit], "verify") == ""


@needs_systemd
@pytest.mark.parametrize("unit", [SYSTEM, USER])
def test_what_a_unit_leaves_open_is_little(unit: str, tmp_path: Path) -> None:
    copy = Path(shutil.copy(UNITS / unit, tmp_path))
    words = (MANAGER[unit], "security", "--offline=true", "--threshold=20", "--no-pager")  # tenths
    assert "exposure level" in analyze(copy, *words)
    copy.write_text(copy.read_text().replace("RestrictNamespaces=true\n", "").replace("CapabilityBoundingSet=\n", ""))
    with pytest.raises(AssertionError):
        analyze(copy, *words)


def test_every_unit_is_looked_at_and_runs_a_command_there_is() -> None:
    assert {each.name for each in UNITS.iterdir()} == set(MANAGER)
    for unit in MANAGER:
        started = next(line for line in lines(unit) if line.startswith("ExecStart="))
        assert started.split()[1] in MODULES


@pytest.mark.parametrize("unit", [SYSTEM, USER])
def test_systemd_waits_longer_than_the_server_needs(unit: str) -> None:
    wait = next(line for line in lines(unit) if line.startswith("TimeoutStopSec="))
    assert float(wait.partition("=")[2]) > OpsSettings().shutdown_grace_s + 2
