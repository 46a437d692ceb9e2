"""Packs an MCP bundle: ``python deploy/mcpb/pack.py dist/strongroom-….whl``, or ``make bundle``.

The bundle holds the wheel, model included, and the versions it was tested with; what else it needs, a client installs
with uv. The official tool checks the manifest and packs; without Node the folder is left for another machine to pack.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOOL = "@anthropic-ai/mcpb@2.1.2"
PROJECT = """[project]
name = "strongroom-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["strongroom"]

[tool.uv]
package = false
constraint-dependencies = {constraints}

[tool.uv.sources]
strongroom = {{ path = "{wheel}" }}
"""


def stage(wheel: Path, folder: Path) -> None:
    """Lay out what the bundle holds."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    asked = (ROOT / "requirements" / "light.in").read_text(encoding="utf-8")
    constraints = json.dumps(
        [line.split(" #")[0] for line in re.findall(r"^[\w.-]+==.+$", asked, re.MULTILINE)], indent=2
    )
    project = PROJECT.format(version=manifest["version"], constraints=constraints, wheel=wheel.name)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    shutil.copy(HERE / "manifest.json", folder)
    shutil.copy(HERE / "server.py", folder / "src")
    shutil.copy(ROOT / "LICENSE", folder)
    shutil.copy(wheel, folder)


def main() -> None:
    wheel = Path(sys.argv[1]).resolve()
    folder = wheel.parent / "bundle"
    stage(wheel, folder)
    npx = shutil.which("npx")
    if npx is None:
        print(f"{folder} is ready; there is no npx here to pack it")
        return
    bundle = wheel.parent / f"strongroom-{wheel.name.split('-')[1]}.mcpb"
    subprocess.run([npx, "--yes", TOOL, "validate", str(folder / "manifest.json")], check=True)
    subprocess.run([npx, "--yes", TOOL, "pack", str(folder), str(bundle)], check=True)
    print(f"{bundle}: {bundle.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
