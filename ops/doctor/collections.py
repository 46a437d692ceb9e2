"""Checks of the folders a vault reads besides its notes."""

from __future__ import annotations

from ops.doctor.check import DoctorCheck
from vaults.domain.collections import editing
from vaults.domain.text.plurals import pluralize
from vaults.vault import Vault

MAX_PROBLEMS = 5
"""Files of one collection that are named."""


async def collections(vault: Vault) -> DoctorCheck:
    """Whether every collection can be read, and every file of it."""
    views = await vault.db.read(lambda tx: editing.list_views(tx, MAX_PROBLEMS))
    lost = [each for each in views if each.state.phase == "unavailable"]
    broken = sum(each.state.problems for each in views)
    details = [f"{each.collection.fields.name}: {each.state.reason}" for each in lost]
    details += [
        f"{each.collection.fields.name}: {path}: {problem}" for each in views for path, problem in each.problems
    ]
    if lost:
        todo = "see that the folder is there, or run: strongroom collection remove NAME"
        message = f"{pluralize(len(lost), 'collection')} cannot be read; what was read before is still found"
        return DoctorCheck("collections", "warning", message, todo, details)
    if broken:
        return DoctorCheck("collections", "notice", f"{pluralize(broken, 'file')} not read, or not wholly", "", details)
    return DoctorCheck("collections", "ok", f"{pluralize(len(views), 'collection')}, each as its folder is")
