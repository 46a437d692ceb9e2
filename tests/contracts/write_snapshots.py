"""Write the golden file of every tool: `make snapshots`."""

from __future__ import annotations

import json

from tests.contracts.test_tools import SNAPSHOTS, TOOLS, snapshot

if __name__ == "__main__":
    SNAPSHOTS.mkdir(parents=True, exist_ok=True)
    for stale in SNAPSHOTS.glob("*.json"):
        stale.unlink()
    for spec in TOOLS:
        text = json.dumps(snapshot(spec), indent=1, ensure_ascii=False, sort_keys=True)
        (SNAPSHOTS / f"{spec.name}.json").write_text(text + "\n", encoding="utf-8")
