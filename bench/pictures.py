"""``python -m bench.pictures``: draws docs/pictures/graph.svg, the graph of this repository's own documentation.

With a folder it draws that one, and with ``--note`` what is around a note of it. The notes are copied and served as in
any vault; nothing but the SVG is left behind. The same notes give the same bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from auth.principal import owner
from auth.roles import Role
from bench import data_folders
from bench.run import ROOT
from server import vault_admin
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services, open_services
from server.tools import discover
from vaults.graph import centrality

TARGET = ROOT / "docs" / "pictures" / "graph.svg"
OWN = ("README.md", "CHANGELOG.md", "docs/*.md", "*/README.md", "vaults/*/README.md", "integrations/*/README.md")
PATIENCE_S = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """0 when the picture was drawn."""
    given = _arguments(argv)
    paths = sorted(given.folder.rglob("*.md") if given.folder else {each for one in OWN for each in ROOT.glob(one)})
    with TemporaryDirectory(prefix="strongroom-pictures-") as data:
        notes = Path(data) / "vaults" / given.name / "notes"
        for path in paths:
            target = notes / path.relative_to(given.folder or ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        svg = asyncio.run(_draw(Path(data), given.name, given.note, len(paths)))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(svg, encoding="utf-8")
    print(f"{given.out}: {len(paths)} notes, {len(svg):,} characters")
    return 0


async def _draw(data: Path, name: str, note: str | None, number: int) -> str:
    flags = {"storage.reserve_mb": 0, "embedding.engine": "off"}
    loaded = data_folders.default_settings(data, **flags)
    async with open_services(loaded.settings, data, discover()) as services:
        await vault_admin.create(services, name)
        async with asyncio.timeout(PATIENCE_S):
            await _wait_for_scores(services, name, number)
        caller = Caller(owner("cli"), name, Role.ADMIN, "cli", form="whole")
        arguments = {"action": "export", "format": "svg"} | ({"path": note} if note else {})
        found = await dispatch(services, caller, "graph", arguments)
        if not found.ok:
            sys.exit(found.text)
        return str(found.content["export"])


async def _wait_for_scores(services: Services, name: str, number: int) -> None:
    """Wait until all notes are in the index and it is known how central each is."""
    async with services.pool.lease(services.registry_cache.entry(name)) as vault:
        while True:
            held, owed = await vault.db.read(
                lambda tx: (int(tx.value("SELECT COUNT(*) FROM notes") or 0), centrality.is_due(tx))
            )
            if held >= number and not owed:
                return
            await asyncio.sleep(0.1)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pictures", description=__doc__)
    parser.add_argument("--folder", type=Path, metavar="DIR", help="notes to draw; default: this documentation")
    parser.add_argument("--name", default="strongroom", help="of the vault: the picture's title")
    parser.add_argument("--note", metavar="PATH", help="draw what is around this note")
    parser.add_argument("--out", type=Path, default=TARGET, metavar="FILE", help="where the SVG goes")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
