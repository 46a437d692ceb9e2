"""The version stands in pyproject.toml; other files that must name it follow.

``python deploy/release/version_files.py`` prints where it stands, ``… 0.2.0`` writes it everywhere.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
SOURCE = "pyproject.toml"
PLACES = {
    SOURCE: r'(?m)(?<=^name = "strongroom"\nversion = ")[^"]+',
    "server.json": r'(?<="version": ")[^"]+',
    "deploy/mcpb/manifest.json": r'(?<="version": ")[^"]+',
    "deploy/helm/strongroom/Chart.yaml": r'(?m)(?<=^version: )\S+|(?<=^appVersion: ")[^"]+',
    "integrations/claude-code/.claude-plugin/plugin.json": r'(?<="version": ")[^"]+',
}
"""File → where the version stands in it, once or more often."""


def versions(root: Path = ROOT) -> dict[str, set[str]]:
    """What each file says the version is."""
    return {
        file: set(re.findall(pattern, (root / file).read_text(encoding="utf-8"))) for file, pattern in PLACES.items()
    }


def set_version(version: str, root: Path = ROOT) -> None:
    """Write the version everywhere. Raises ``ValueError`` for what is no semantic version."""
    if not SEMVER.fullmatch(version):
        raise ValueError(f"{version} is not a semantic version")
    for file, pattern in PLACES.items():
        path = root / file
        path.write_text(re.sub(pattern, version, path.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    if len(sys.argv) > 1:
        set_version(sys.argv[1])
    for file, found in versions().items():
        print(f"{', '.join(sorted(found)) or 'none':12} {file}")


if __name__ == "__main__":
    main()
