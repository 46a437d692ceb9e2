"""A process that joins an installation to a cluster, and says each step before it takes it: to be killed there."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from server.cluster.join import join_cluster
from server.settings import load


def say(done: int, total: int, what: str) -> None:
    print(f"{done}/{total} {what}", flush=True)


def main(data: Path, url: str) -> None:
    settings = load(data, flags={"storage.reserve_mb": 0, "cluster.url": url}, environment={}).settings
    report = asyncio.run(join_cluster(settings, data, say))
    print(f"joined {sum(vault.moved for vault in report.vaults)}" if report.is_joined else "copied", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
