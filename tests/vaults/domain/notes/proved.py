"""A folder of notes to prove and to rebuild, and what a proof of it says."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.noted import put
from vaults.domain.maintenance.verification import VerificationReport, verify
from vaults.vault import Vault

NOTES = {
    "harbour.md": "---\naliases: [port]\ntags: [sea, a/b]\nstatus: open\n---\n# Harbour\n\n"
    "Tides. [[Tea|a cup]] #quay\n",
    "deep/Tea.md": "# Tea\n\nAt four.\n\n- [ ] buy tea 📅 2026-01-02\n\n## Kinds\n\n"
    + "\n\n".join(f"Paragraph {n} on leaves, water and {n} cups." for n in range(40)),
    "日本.md": "港の潮と船\n",
    "empty.md": "",
}
AGE_S = 40


def aged(root: Path, notes: dict[str, str]) -> None:
    """Files that were saved a while ago."""
    put(root, notes)
    old = time.time_ns() - AGE_S * 10**9
    for path in notes:
        os.utime(root / path, ns=(old, old))


async def errors(vault: Vault) -> set[str]:
    report = await verify(vault)
    assert report.agrees == (not [found for found in report.findings if found.severity == "error"])
    return {found.code for found in report.findings if found.severity == "error"}


def notices(report: VerificationReport) -> dict[str, int]:
    return {found.code: found.count for found in report.findings if found.severity == "notice"}
