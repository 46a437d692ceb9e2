"""Sources on a disk that can only be read: made, and read, where such a one is mounted.

``python -m tests.crash.read_only_source made DISK`` lays them out; ``… read DISK OUT`` reads each and prints a line of
JSON for it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from bench.made_up_sources import write_chatgpt_export
from tests.crash.harvest_work import write_sessions
from tests.vaults.sources.sqlite_fixtures import see_folder
from tests.vaults.sources.test_moltmind import LATEST, memory
from tests.vaults.sources.test_moltmind import make_database as make_moltmind
from vaults.domain.import_export.harvesting import Harvester
from vaults.domain.import_export.row_writer import LineOutcome
from vaults.domain.import_export.source_import import ImportPlan, import_source
from vaults.sources.known import find_source

SOURCES = {"jsonl": "in.jsonl", "moltmind": "moltmind/memory.db", "chatgpt": "export.zip"}


def lay_out(disk: Path) -> None:
    """One source of each form."""
    (disk / "in.jsonl").write_text('{"content": "a boat"}\n{"content": 3}\n')
    make_moltmind(disk / "moltmind" / "memory.db", LATEST, {"memories": [memory("m1"), memory("m2")]})
    write_chatgpt_export(disk / "conversations.json", 10_000)
    with zipfile.ZipFile(disk / "export.zip", "w") as export:
        export.write(disk / "conversations.json", "conversations.json")
    write_sessions(disk / "home")


async def push(lines: Any) -> list[LineOutcome]:
    """Take what is a record, and nothing else."""
    return [LineOutcome("any", "stored" if each.fields.get("content") != 3 else "rejected", "none") for each in lines]


async def read_all(disk: Path, out: Path) -> None:
    """What came of each source, and whether anything changed."""
    before = see_folder(disk)
    for name, path in SOURCES.items():
        tally = await import_source(ImportPlan(find_source(name), disk / path), push)
        print(json.dumps({"source": name, "stored": tally.stored, "unwritten": len(tally.unwritten)}))
    report = await Harvester(disk / "home", out).run(push)
    print(json.dumps({"source": "harvest", "stored": report.seen.conversations, "unwritten": len(report.seen.failed)}))
    print(json.dumps({"same": see_folder(disk) == before}))


if __name__ == "__main__":
    kind, place, *more = sys.argv[1:]
    lay_out(Path(place)) if kind == "made" else asyncio.run(read_all(Path(place), Path(more[0])))
