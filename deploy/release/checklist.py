"""What must be true before a version is tagged: ``make release-check VERSION=0.2.0``.

Each line is checked here, on the checkout that will be tagged; what only a person can do is printed last. A release
itself is made by .github/workflows/release.yml, which runs this again on the tag.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from version_files import ROOT, SEMVER, SOURCE, versions

BY_HAND = """
Then, by hand:
  1. make check test e2e conformance, on the commit that will be tagged; make bench where ranking or a hot path changed
  2. git tag -s v{version} -m "strongroom {version}" && git push origin v{version}; the workflow builds and publishes
  3. compare SHA256SUMS of the release with a wheel built here; gh attestation verify strongroom-{version}-*.whl
  4. strongroom doctor on a copy of a data folder that the version before wrote
  5. mcp-publisher login github && mcp-publisher publish, in a checkout of the tag
"""


@dataclass(frozen=True, slots=True)
class Release:
    """The version that is to be, and whether its tag is there already (it is in the workflow)."""

    version: str
    tagged: bool
    root: Path = ROOT

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()


def one_version(release: Release) -> Iterator[str]:
    """every file names this version"""
    if not SEMVER.fullmatch(release.version):
        yield f"{release.version} is not a semantic version"
    for file, found in versions(release.root).items():
        if found != {release.version}:
            yield f"{file} says {', '.join(sorted(found))}: python deploy/release/version_files.py {release.version}"


def dated_changelog(release: Release) -> Iterator[str]:
    """the change log begins with it, and a day"""
    head = re.search(r"^## (.+)$", (release.root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if head is None or not re.fullmatch(re.escape(release.version) + r" \(\d{4}-\d\d-\d\d\)", head[1]):
        yield f"CHANGELOG.md begins with «{head[1] if head else ''}», not «{release.version} (YYYY-MM-DD)»"


def clean_checkout(release: Release) -> Iterator[str]:
    """nothing is uncommitted, and the tag is free"""
    if changed := release.git("status", "--porcelain"):
        yield f"uncommitted: {', '.join(line.split()[-1] for line in changed.splitlines()[:5])}"
    tagged = release.git("tag", "--list", f"v{release.version}")
    if tagged and not release.tagged:
        yield f"v{release.version} is tagged already"


def named_publisher(release: Release) -> Iterator[str]:
    """the MCP registry can tell whose server this is"""
    name = json.loads((release.root / "server.json").read_text(encoding="utf-8"))["name"]
    if ".OWNER/" in name:
        yield "server.json still says OWNER: put the account in whose name it is published"
    elif f"mcp-name: {name}" not in (release.root / "README.md").read_text(encoding="utf-8"):
        yield f"README.md, which PyPI shows, must hold the comment <!-- mcp-name: {name} -->"


def generated_files(release: Release) -> Iterator[str]:
    """what is generated is as the code has it"""
    environment = os.environ | {"PYTHONPATH": str(release.root)}
    for module in ("tests.contracts.write_snapshots", "server.cli.reference", "tests.contracts.licences"):
        subprocess.run(
            [sys.executable, "-m", module], cwd=release.root, env=environment, check=True, capture_output=True
        )
    if stale := release.git("diff", "--name-only"):
        yield f"stale: {', '.join(stale.split())}"


def same_wheel_twice(release: Release) -> Iterator[str]:
    """the wheel comes out the same each time"""
    epoch = release.git("log", "-1", "--format=%ct")
    if len({_wheel_digest(release.root, epoch) for _ in range(2)}) > 1:
        yield "two builds of the wheel differ"


def _wheel_digest(root: Path, epoch: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
        subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True)
        (wheel,) = Path(folder).iterdir()
        return hashlib.sha256(wheel.read_bytes()).hexdigest()


CHECKS: tuple[Callable[[Release], Iterator[str]], ...] = (
    one_version,
    dated_changelog,
    clean_checkout,
    named_publisher,
    generated_files,
    same_wheel_twice,
)


def run(release: Release, checks: tuple[Callable[[Release], Iterator[str]], ...] = CHECKS) -> bool:
    """Print each check and what is wrong; whether nothing is."""
    fine = True
    for check in checks:
        problems = list(check(release))
        fine = fine and not problems
        print(f"{'no ' if problems else 'yes'}  {(check.__doc__ or '').strip()}")
        for problem in problems:
            print(f"       {problem}")
    return fine


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--tagged"]
    version = words[0].removeprefix("v") if words else min(versions()[SOURCE])
    if not run(Release(version, "--tagged" in sys.argv)):
        sys.exit(1)
    print(BY_HAND.format(version=version))


if __name__ == "__main__":
    main()
