"""A vault's change to another model: its vectors are made in the background while those of the old one are searched,
then they change places in one transaction. Those of the old one are kept for a week, so that going back is as quick.

What is stored meanwhile gets a vector of the old model at once, and is found; its new one is made with the others.
Everything stands in the database, so a kill costs the batch that was under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaults import clock
from vaults.context import run_in
from vaults.db.sql import Reader, Writer
from vaults.embed.backend import ModelIdentity
from vaults.embed.engines import require_servable
from vaults.embed.served_models import settings_of
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, InvalidArgument, Overloaded
from vaults.index import embeddings, model_choice, spare_vectors
from vaults.index.embeddings import MissingVector
from vaults.index.model_choice import ModelChoice
from vaults.vault import BackgroundJob, Vault

DEFAULT = "default"
"""Names the server's own model."""

KEPT_S = 7 * 86_400.0
"""Seconds for which vectors of the model before, or of a change that was given up, are kept."""

BATCH = 256
"""Texts between two looks at other work of the vault."""

_PLAIN = "strongroom"

FULL = "the vault's limit of storage leaves no room for the new vectors"
DISK_FULL = "too little of the disk is free"


async def request(vault: Vault, name: str) -> ModelChoice:
    """Have a vault change to a model: ``default``, a name or folder of this machine, or ``endpoint:`` and a name there.
    Raises ``InvalidArgument`` for one that cannot serve here."""
    wanted = None if name == DEFAULT else _find_folder(name)
    before = await vault.db.read(model_choice.read_choice)
    if wanted is not None and wanted not in (before.serving, before.wanted):
        await _check(vault, wanted)

    def write(tx: Writer) -> ModelChoice:
        model_choice.want(tx, wanted, clock.now())
        return model_choice.read_choice(tx)

    return await vault.db.write(write)


def _find_folder(name: str) -> str:
    """The whole path of a folder: another process may be in another one."""
    folder = Path(name).expanduser()
    return str(folder.resolve()) if folder.is_dir() else name


async def _check(vault: Vault, name: str) -> None:
    settings = settings_of(vault.shared.embedding, name)
    if settings is None:
        raise InvalidArgument("--model", "names a model behind embedding.endpoint, which is not set")
    if vault.shared.embedding.engine == "off":
        raise InvalidArgument("--model", "needs embeddings, which are off here: embedding.engine")
    try:
        await run_in(vault.shared.pool, require_servable, settings)
    except EmbeddingUnavailable as failure:
        raise InvalidArgument("--model", f"{name} cannot serve here: {failure.message}", hint=failure.hint) from None


async def find_problem(vault: Vault, name: str) -> str | None:
    """Why a model cannot serve the vault here; None where it can, as far as that is known without asking an
    endpoint."""
    settings = settings_of(vault.shared.embedding, name)
    if settings is None:
        return f"{name} is behind an endpoint, and embedding.endpoint is not set"
    if settings.engine == "endpoint" or vault.shared.embedding.engine == "off":
        return None
    try:
        await run_in(vault.shared.pool, require_servable, settings)
    except EmbeddingUnavailable as failure:
        return failure.message
    return None


def is_due(tx: Reader) -> bool:
    """Whether a change is under way, or vectors were kept long enough."""
    if not model_choice.read_choice(tx).is_settled:
        return True
    changed = model_choice.changed_at(tx)
    return changed is not None and changed < clock.ago(KEPT_S)


async def proceed(vault: Vault) -> None:
    """A background job: makes one batch of vectors, or ends the change. Without the model the change waits."""
    choice = await vault.db.read(model_choice.read_choice)
    if choice.is_settled:
        await vault.db.write(_forget_spare)
        return
    embedder = vault.shared.models.of(choice.wanted)
    if await find_obstacle(vault):
        return
    try:
        model = embedder.identity or await _identify(embedder)
        if await _make_batch(vault, embedder, model):
            vault.start_background_work()
            return
    except (EmbeddingUnavailable, Overloaded):
        return
    await _switch(vault, choice, model)


async def _identify(embedder: EmbeddingService) -> ModelIdentity:
    await embedder.each([_PLAIN], urgent=False)  # not urgent: an endpoint that failed is asked by imports alone
    return await embedder.warm()


async def _require_sound(embedder: EmbeddingService) -> None:
    """Raises ``EmbeddingUnavailable`` where the model has no vector for a text that every model has one for."""
    await embedder.texts([_PLAIN], urgent=False)


async def _make_batch(vault: Vault, embedder: EmbeddingService, model: ModelIdentity) -> int:
    """Make the next vectors; returns how many texts there were."""

    def read(tx: Reader) -> list[MissingVector]:
        return [] if embeddings.is_of(tx, model.key) else spare_vectors.next_unmade(tx, model.key, BATCH)

    batch = await vault.db.read(read)
    if not batch:
        return 0
    rows = await embedder.each([missing.text for missing in batch], urgent=False)
    if any(row is None for row in rows):
        await _require_sound(embedder)  # else what a broken model has no vector for would count as done
    if embedder.identity != model:
        return len(batch)  # it is another one by now: begin anew
    made = [
        (missing.passage, missing.text_hash, b"" if row is None else row.tobytes())
        for missing, row in zip(batch, rows, strict=True)
    ]
    await vault.db.write(lambda tx: _keep(tx, model.key, made))
    return len(batch)


def _keep(tx: Writer, model: str, made: Sequence[tuple[int, str, bytes]]) -> None:
    spare_vectors.begin(tx, model)
    spare_vectors.store(tx, model, made)


async def _switch(vault: Vault, choice: ModelChoice, model: ModelIdentity) -> None:
    keeps = vault.limits.max_size is None

    def write(tx: Writer) -> bool:
        if model_choice.read_choice(tx) != choice:
            return False
        if not embeddings.is_of(tx, model.key):
            spare_vectors.exchange(tx, model.key, keeps=keeps)
        elif tx.value("SELECT value FROM vault_info WHERE key = 'model'") is None:
            embeddings.stamp_model(tx, model.key)
        model_choice.set_serving(tx, choice.wanted, clock.now())
        return True

    if await vault.db.write(write):
        vault.use_model(choice.wanted)
        await vault.drop_vectors()
        vault.start_background_work()


def _forget_spare(tx: Writer) -> None:
    spare_vectors.drop_all(tx)
    model_choice.forget_change(tx)


async def find_obstacle(vault: Vault) -> str | None:
    """Why no vectors may be made now: those of two models take twice the room, for which no memory is to go."""
    if not vault.disk.has_room_in_bulk():
        return DISK_FULL
    most = vault.limits.target
    return FULL if most is not None and await vault.db.read(lambda tx: tx.size()) > most else None


CHANGE_MODEL = BackgroundJob("change_model", is_due, proceed)
