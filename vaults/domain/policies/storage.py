"""The policies of a vault as files: listing, reading and writing them. Versions are kept along with those of notes, so
``history`` shows and undoes changes to policies, too."""

from __future__ import annotations

from dataclasses import dataclass

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.notes import policy_paths
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.index.extraction import compute_digest, etag_of
from vaults.domain.notes.policy_paths import MAX_BYTES
from vaults.domain.policies import definitions
from vaults.domain.policies.definitions import Policy
from vaults.domain.policies.plans import PolicyPlan, PolicyTools, make_plan
from vaults.domain.policies.runner import TOOL
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound, StrongroomError
from vaults.files.tree import FileContent, FileStamp
from vaults.vault import Vault

MAX_POLICIES = 200
"""Max policies listed."""

MAX_READ_BYTES = 4 * MAX_BYTES
"""Max bytes read of a file: above ``MAX_BYTES``, so that an overlong policy is reported as such."""


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy as stored in its file."""

    name: str
    path: str
    data: bytes
    stamp: FileStamp

    @property
    def etag(self) -> str:
        return etag_of(compute_digest(self.data))


@dataclass(frozen=True, slots=True)
class ListedPolicy:
    """A stored policy. ``problem``: why it cannot be run."""

    name: str
    path: str
    policy: Policy | None = None
    problem: str | None = None


async def list_policies(vault: Vault, tools: PolicyTools) -> list[ListedPolicy]:
    """Every policy of the vault by name, including those that cannot be run."""
    return await run_in(vault.shared.pool, _list_policies, vault, tools)


def _list_policies(vault: Vault, tools: PolicyTools) -> list[ListedPolicy]:
    folder = vault.notes.settings.policies
    found = []
    for name in vault.notes.tree.list_names(folder, policy_paths.SUFFIX, MAX_POLICIES):
        path = f"{folder}/{name}{policy_paths.SUFFIX}"
        try:
            kept = _read_policy(vault, name)
            found.append(ListedPolicy(name, path, plan_from_bytes(kept.data, kept.name, tools).policy))
        except StrongroomError as failure:
            found.append(ListedPolicy(name, path, problem=failure.message))
    return found


async def open_policy(vault: Vault, name: str) -> StoredPolicy:
    """Read a policy by its name. Raises ``NotFound`` with the existing names, ``InvalidArgument``."""
    return await run_in(vault.shared.pool, _read_policy, vault, name)


def _read_policy(vault: Vault, name: str) -> StoredPolicy:
    path = policy_paths.policy_path(vault.notes.settings.policies, name)
    try:
        content: FileContent = vault.notes.tree.read(path, MAX_READ_BYTES)
    except NotFound:
        there = vault.notes.tree.list_names(vault.notes.settings.policies, policy_paths.SUFFIX, MAX_POLICIES)
        hint = f"there are: {', '.join(there[:20])}" if there else "there is none yet: an admin can author one"
        raise NotFound(f"no policy {name}", hint=hint) from None
    return StoredPolicy(name, path, content.data, content.stamp)


def plan_from_bytes(data: bytes, name: str | None, tools: PolicyTools) -> PolicyPlan:
    """Parse and validate the bytes of a policy's file. Blocking. Raises ``InvalidArgument`` that names the place, also
    if its name is not that of its file."""
    policy = definitions.parse_policy(data)
    if name is not None and policy.name != name:
        raise InvalidArgument("name", f"must be {name}, as the file is called")
    return make_plan(policy, tools)


async def add_policy(
    vault: Vault, actor: Actor, name: str, content: str, session: str | None
) -> tuple[StoredPolicy, str]:
    """Store a new policy that the caller has checked; returns it with the id of the change for ``history``. Raises
    ``AlreadyExists``."""
    path = policy_paths.policy_path(vault.notes.settings.policies, name)
    async with vault.notes.writing():
        existing = await run_in(vault.shared.pool, vault.notes.tree.collision, path)
        if existing is not None:
            raise AlreadyExists(f"there is a policy {name} already", hint="revise changes it", path=existing)
        return await _write(vault, actor, FileChange(path, None, content.encode()), ("authored", session))


async def revise_policy(
    vault: Vault, actor: Actor, stored: StoredPolicy, content: str, session: str | None
) -> tuple[StoredPolicy, str | None]:
    """Replace the version that was read with another. Raises ``Conflict`` if it has changed meanwhile."""
    if stored.data == content.encode():
        return stored, None
    async with vault.notes.writing():
        file = FileChange(stored.path, stored.data, content.encode(), stamp=stored.stamp)
        return await _write(vault, actor, file, ("revised", session))


async def remove_policy(vault: Vault, actor: Actor, stored: StoredPolicy, session: str | None) -> str:
    """Delete a policy; returns the id of the change, by which ``history`` can undo it."""
    async with vault.notes.writing():
        file = FileChange(stored.path, stored.data, None, stamp=stored.stamp)
        return await _commit_audited(vault, actor, file, ("deleted", session))


def check_etag(stored: StoredPolicy, etag: str | None) -> None:
    """Raise ``Conflict``, with the present text and etag, if the caller read another version."""
    if etag != stored.etag:
        text = stored.data.decode("utf-8", "replace")
        hint = "look at the present text and revise it with its etag"
        raise Conflict(
            f"the policy {stored.name} has changed since it was read", hint=hint, etag=stored.etag, text=text
        )


async def _write(vault: Vault, actor: Actor, file: FileChange, how: tuple[str, str | None]) -> tuple[StoredPolicy, str]:
    change = await _commit_audited(vault, actor, file, how)
    content = await run_in(vault.shared.pool, vault.notes.tree.read, file.path, MAX_READ_BYTES)
    return StoredPolicy(_stem(file.path), file.path, content.data, content.stamp), change


async def _commit_audited(vault: Vault, actor: Actor, file: FileChange, how: tuple[str, str | None]) -> str:
    """Commit the change and record it in the audit, for whoever writes procedures must be accountable."""
    verb, session = how
    name = _stem(file.path)
    done = await commit(vault, actor, NoteChange(TOOL, f"{verb} the policy {name}", [file], session))

    def audit(tx: Writer) -> None:
        tx.run(
            "INSERT INTO audit (at, who, action, target, reason) VALUES (:at, :who, :action, :target, :reason)",
            {"at": clock.now(), "who": actor.identity, "action": f"policy {verb}", "target": name, "reason": done.id},
        )

    await vault.db.write_uncounted(audit)
    return done.id


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(policy_paths.SUFFIX)
