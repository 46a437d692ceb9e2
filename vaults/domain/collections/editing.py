"""Adding, changing and removing collections, and how each is now."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import GLOBAL, Actor, workspace_key
from vaults.domain.collections import collection_rows, file_rows, removal, roots
from vaults.domain.collections.change_signal import signal_change
from vaults.domain.collections.collection_model import Collection, CollectionFields, CollectionKind, CollectionState
from vaults.domain.collections.file_kinds import make_rules
from vaults.domain.collections.roots import RootRules
from vaults.domain.secrets import redaction
from vaults.errors import InvalidArgument, NotFound
from vaults.files.ignore_rules import is_pattern
from vaults.vault import Vault

T = TypeVar("T")

MAX_COLLECTIONS = 200
"""Collections a vault may have: each is watched."""

_NAME = re.compile(r"[^\W_](?:[\w .-]{0,62}[\w])?")
_STEP_S = 0.05


@dataclass(frozen=True, slots=True)
class CollectionRequest:
    """What a caller says of a collection; None: nothing."""

    root: str | None = None
    kind: CollectionKind | None = None
    include: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    context: str | None = None
    workspace: str | None = None
    watch: bool | None = None


@dataclass(frozen=True, slots=True)
class CollectionView:
    """A collection and how it is. ``problems``: some of the files of which nothing or not all came, and why."""

    collection: Collection
    state: CollectionState
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_read(self) -> bool:
        """Whether it was read as it is now, or cannot be."""
        return self.state.phase == "unavailable" or self.state.revision == self.collection.revision


def list_views(tx: Reader, problems: int = 0) -> list[CollectionView]:
    """All collections, by name, each with some of its problems."""
    states = collection_rows.read_states(tx)
    return [
        CollectionView(each, _count_so_far(tx, each, states), _list_problems(tx, each, problems))
        for each in collection_rows.list_collections(tx)
    ]


def _count_so_far(tx: Reader, collection: Collection, states: Mapping[int, CollectionState]) -> CollectionState:
    """The state, with what was read up to now where not all is."""
    state = states.get(collection.seq, CollectionState())
    if state.revision == collection.revision:
        return state
    return replace(state, **asdict(file_rows.count_files(tx, collection.seq)))


def _list_problems(tx: Reader, collection: Collection, limit: int) -> list[tuple[str, str]]:
    rows = file_rows.list_problems(tx, collection.seq, limit) if limit else []
    return [(each.path, each.problem or "") for each in rows]


async def add(vault: Vault, actor: Actor, name: str, request: CollectionRequest, rules: RootRules) -> Collection:
    """Add a collection, which whoever follows the vault reads. Raises ``InvalidArgument`` and ``AlreadyExists``."""
    if request.root is None:
        raise InvalidArgument("root", "is needed: the folder to read")
    start = CollectionFields(name=_check_name(name), kind=request.kind or "markdown", root=Path("/"))
    fields = await run_in(vault.shared.pool, _merge, start, request, rules)

    def write(tx: Writer) -> Collection:
        known = collection_rows.list_collections(tx)
        if len(known) >= MAX_COLLECTIONS:
            raise InvalidArgument("name", f"is one too many: a vault has {MAX_COLLECTIONS} collections at most")
        roots.check_free(fields, known, rules)
        return collection_rows.insert(tx, fields, actor.identity)

    return await _write(vault, write)


async def update(vault: Vault, name: str, request: CollectionRequest, rules: RootRules) -> Collection:
    """Change what is given. Documents stay where their files do. Raises as ``add``, and ``NotFound``."""
    if request.kind is not None:
        raise InvalidArgument("kind", "cannot be changed: remove the collection and add it anew")
    known = await vault.db.read(lambda tx: collection_rows.find_collection(tx, name))
    fields = await run_in(vault.shared.pool, _merge, known.fields, request, rules)

    def write(tx: Writer) -> Collection:
        now = collection_rows.find_collection(tx, name)
        roots.check_free(fields, [each for each in collection_rows.list_collections(tx) if each.seq != now.seq], rules)
        if (now.fields.context, now.fields.workspace) != (fields.context, fields.workspace):
            file_rows.forget_reading(tx, now.seq)
        if now.fields.root != fields.root:
            collection_rows.update_state(tx, now.seq, device=None)
        return collection_rows.change(tx, now, fields)

    return await _write(vault, write)


async def rename(vault: Vault, name: str, new_name: str) -> Collection:
    """Give a collection another name; its documents stay, with their vectors. Raises ``NotFound``, ``AlreadyExists``
    and ``InvalidArgument``."""
    checked = _check_name(new_name, "new_name")

    def write(tx: Writer) -> Collection:
        known = collection_rows.find_collection(tx, name)
        return collection_rows.change(tx, known, replace(known.fields, name=checked))

    return await _write(vault, write)


async def refresh(vault: Vault, name: str | None) -> list[Collection]:
    """Have one, or all, looked at again. Raises ``NotFound``."""

    def write(tx: Writer) -> list[Collection]:
        known = [collection_rows.find_collection(tx, name)] if name else collection_rows.list_collections(tx)
        return [collection_rows.change(tx, each, each.fields) for each in known]

    return await _write(vault, write)


async def remove(vault: Vault, name: str, seconds: float) -> bool:
    """Remove a collection, and its documents for as long as ``seconds``; returns whether all are gone. The rest goes in
    the background. Raises ``NotFound``."""
    await vault.disk.make_room()
    await _write(vault, lambda tx: collection_rows.mark_removed(tx, collection_rows.find_collection(tx, name)))
    try:
        async with asyncio.timeout(seconds):
            await removal.finish_removals(vault)
    except TimeoutError:
        vault.start_background_work()
        return False
    return True


async def wait_until_read(vault: Vault, collections: Sequence[Collection], seconds: float) -> bool:
    """Whether all of these are read as they are now, here or in another process, within ``seconds``."""
    wanted, until = {each.seq: each.revision for each in collections}, time.monotonic() + seconds

    def is_read(tx: Reader) -> bool:
        return all(view.is_read for view in list_views(tx) if wanted.get(view.collection.seq))

    while not (done := await vault.db.read(is_read)) and time.monotonic() < until:  # noqa: ASYNC110  another process may read it
        await asyncio.sleep(_STEP_S)
    return done


async def _write(vault: Vault, change: Callable[[Writer], T]) -> T:
    vault.check_writable()
    done = await vault.db.write(change)
    await run_in(vault.shared.pool, signal_change, vault.folder)
    vault.background.resume_lasting_tasks()
    return done


def _check_name(name: str, field_name: str = "name") -> str:
    if _NAME.fullmatch(name) is None or redaction.find_secrets(name):
        raise InvalidArgument(
            field_name,
            "must be 1–64 letters, digits, spaces, dots, dashes and underscores, and begin with a letter or digit",
        )
    return name


def _merge(known: CollectionFields, request: CollectionRequest, rules: RootRules) -> CollectionFields:
    """The fields with what is given. Raises ``InvalidArgument``."""
    given: dict[str, Any] = {
        "include": None if request.include is None else tuple(request.include),
        "exclude": None if request.exclude is None else tuple(request.exclude),
        "context": None if request.context is None else " ".join(request.context.split()),
        "workspace": None if request.workspace is None else workspace_key(request.workspace or GLOBAL),
        "watch": request.watch,
        "root": None if request.root is None else roots.resolve_root(request.root, rules),
    }
    fields = replace(known, **{name: value for name, value in given.items() if value is not None})
    if any(not is_pattern(each) for each in fields.exclude):
        raise InvalidArgument("exclude", "has a pattern that is none of gitignore's")
    make_rules(fields)  # raises for a glob that cannot be read
    return roots.without_notes(fields, rules)


def find_names(tx: Reader) -> list[str]:
    """The names of all collections."""
    return [each.fields.name for each in collection_rows.list_collections(tx)]


def require(tx: Reader, name: str | None) -> str:
    """The name given. Raises ``InvalidArgument`` without one, and ``NotFound``."""
    if name is None:
        raise InvalidArgument("name", "is needed: of the collection")
    try:
        return collection_rows.find_collection(tx, name).fields.name
    except NotFound as failure:
        names = find_names(tx)
        raise NotFound(failure.message, hint=f"there are: {', '.join(names[:20])}" if names else None) from None
