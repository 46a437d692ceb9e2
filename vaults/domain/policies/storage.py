"""The policies of a vault as files: listed, read, and written by those who may. Every version is kept with the notes',
so ``history`` shows and takes back what was done to a policy, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.commit.journal import Change, FileChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.index.extraction import digest, etag_of
from vaults.domain.policies import definitions, policy_paths
from vaults.domain.policies.definitions import Policy
from vaults.domain.policies.plans import Plan, Tools, planned
from vaults.domain.policies.policy_paths import MAX_BYTES
from vaults.domain.policies.runner import TOOL
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, StrongroomError
from vaults.files.tree import Content, Stamp
from vaults.vault import Vault

MOST = 200
"""Policies that are listed."""

READ_MOST = 4 * MAX_BYTES
"""Bytes of a file that are looked at: what is longer than a policy may be is still told apart from what is no file."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A policy as its file holds it."""

    name: str
    path: str
    data: bytes
    stamp: Stamp

    @property
    def etag(self) -> str:
        return etag_of(digest(self.data))


@dataclass(frozen=True, slots=True)
class Listed:
    """A policy on the shelf. ``problem``: why it cannot be run."""

    name: str
    path: str
    policy: Policy | None = None
    problem: str | None = None


async def listed(vault: Vault, tools: Tools) -> list[Listed]:
    """Every policy of the vault by name, also those that cannot be run."""
    return await run_in(vault.shared.pool, _listed, vault, tools)


def _listed(vault: Vault, tools: Tools) -> list[Listed]:
    folder = vault.notes.settings.policies
    found = []
    for name in vault.notes.tree.named(folder, policy_paths.SUFFIX, MOST):
        path = f"{folder}/{name}{policy_paths.SUFFIX}"
        try:
            kept = _kept(vault, name)
            found.append(Listed(name, path, plan_of(kept.data, kept.name, tools).policy))
        except StrongroomError as failure:
            found.append(Listed(name, path, problem=failure.message))
    return found


async def opened(vault: Vault, name: str) -> Kept:
    """A policy by its name. Raises ``NotFound`` with the names there are, ``InvalidArgument``."""
    return await run_in(vault.shared.pool, _kept, vault, name)


def _kept(vault: Vault, name: str) -> Kept:
    path = policy_paths.path_of(vault.notes.settings.policies, name)
    try:
        content: Content = vault.notes.tree.read(path, READ_MOST)
    except NotFound:
        there = vault.notes.tree.named(vault.notes.settings.policies, policy_paths.SUFFIX, MOST)
        hint = f"there are: {', '.join(there[:20])}" if there else "there is none yet: an admin can author one"
        raise NotFound(f"no policy {name}", hint=hint) from None
    return Kept(name, path, content.data, content.stamp)


def plan_of(data: bytes, name: str | None, tools: Tools) -> Plan:
    """A policy that holds together, of its file's bytes. Blocking. Raises ``InvalidArgument`` that names the place,
    also where it is not called as its file is."""
    policy = definitions.read(data)
    if name is not None and policy.name != name:
        raise InvalidArgument("name", f"must be {name}, as the file is called")
    return planned(policy, tools)


async def author(vault: Vault, actor: Actor, name: str, content: str, session: str | None) -> tuple[Kept, str]:
    """Put a new policy on the shelf, which the caller has checked; with the change ``history`` takes it back by. Raises
    ``AlreadyExists``."""
    path = policy_paths.path_of(vault.notes.settings.policies, name)
    async with vault.notes.writing():
        existing = await run_in(vault.shared.pool, vault.notes.tree.collision, path)
        if existing is not None:
            raise AlreadyExists(f"there is a policy {name} already", hint="revise changes it", path=existing)
        return await _written(vault, actor, FileChange(path, None, content.encode()), ("authored", session))


async def revise(vault: Vault, actor: Actor, kept: Kept, content: str, session: str | None) -> tuple[Kept, str | None]:
    """Put another version in the place of the one that was read. Raises ``Conflict`` where that is not there any
    more."""
    if kept.data == content.encode():
        return kept, None
    async with vault.notes.writing():
        file = FileChange(kept.path, kept.data, content.encode(), stamp=kept.stamp)
        return await _written(vault, actor, file, ("revised", session))


async def remove(vault: Vault, actor: Actor, kept: Kept, session: str | None) -> str:
    """Take a policy away; returns the change that ``history`` takes back."""
    async with vault.notes.writing():
        file = FileChange(kept.path, kept.data, None, stamp=kept.stamp)
        return await _committed(vault, actor, file, ("deleted", session))


def check_etag(kept: Kept, etag: str | None) -> None:
    """Raise ``Conflict``, with the present text and etag, when the caller has read another version."""
    if etag != kept.etag:
        text = kept.data.decode("utf-8", "replace")
        hint = "look at the present text and revise it with its etag"
        raise Conflict(f"the policy {kept.name} has changed since it was read", hint=hint, etag=kept.etag, text=text)


async def _written(vault: Vault, actor: Actor, file: FileChange, how: tuple[str, str | None]) -> tuple[Kept, str]:
    change = await _committed(vault, actor, file, how)
    content = await run_in(vault.shared.pool, vault.notes.tree.read, file.path, READ_MOST)
    return Kept(_stem(file.path), file.path, content.data, content.stamp), change


async def _committed(vault: Vault, actor: Actor, file: FileChange, how: tuple[str, str | None]) -> str:
    """Make the change, and put it into the audit: who may write procedures is to be seen in what they wrote."""
    verb, session = how
    name = _stem(file.path)
    done = await commit(vault, actor, Change(TOOL, f"{verb} the policy {name}", [file], session))

    def audit(tx: Writer) -> None:
        row: Sequence[object] = (clock.now(), actor.identity, f"policy {verb}", name, done.id)
        tx.run("INSERT INTO audit (at, who, action, target, reason) VALUES (?, ?, ?, ?, ?)", row)

    await vault.db.write_aside(audit)
    return done.id


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(policy_paths.SUFFIX)
