"""Makes the serving copy of a model: load, export, compare with the original, and only then put in place. The bundled
model is served from its own files, so that of it only the digests are compared."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vaults.embed import onnx_engine
from vaults.embed.digests import sha256_of
from vaults.embed.model_source import ModelSource, find_source, require_source, revision_of
from vaults.embed.onnx_export import require_exportable, unsupported_model_error, write_graph
from vaults.embed.prepared_model import (
    FORMAT,
    GRAPH,
    MANIFEST,
    TOKENIZER,
    WEIGHTS,
    Manifest,
    PreparedModel,
    find_prepared,
    fingerprint_file,
    fingerprint_originals,
    manifest_bytes,
    models_folder,
)
from vaults.embed.torch_engine import TorchEmbedder
from vaults.errors import EmbeddingUnavailable, InvalidArgument, StorageFull
from vaults.settings import EmbeddingSettings

TOLERANCE = 1e-5  # largest difference of one number of one vector
_DRAFT = "draft-"
_LOCK_WAIT_S = 600.0


def prepare_model(settings: EmbeddingSettings) -> PreparedModel:
    """The verified copy, made now if there is none. Blocks: 0.1 s if it exists, some 10 s if not.

    Several processes may call it at once. Raises InvalidArgument for a model that only sentence-transformers can
    serve and for one behind an endpoint, EmbeddingUnavailable when the model is absent, not the published one, or needs
    an extra, StorageFull.
    """
    if settings.engine == "endpoint":
        raise InvalidArgument("embedding.engine", "is endpoint: the model is served there, and nothing is to prepare")
    with _translate_os_errors(models_folder(settings)):
        return _find_ready(settings) or _make(require_source(settings.model), settings)


def _find_ready(settings: EmbeddingSettings) -> PreparedModel | None:
    """The existing copy, if every byte is right and it still matches its original."""
    found = find_prepared(settings)
    if found is None or not found.is_intact():
        return None
    source = find_source(settings.model)
    return found if source is None or revision_of(source) == found.identity.revision else None


def _make(source: ModelSource, settings: EmbeddingSettings) -> PreparedModel:
    from filelock import FileLock

    models = models_folder(settings)
    models.mkdir(parents=True, exist_ok=True)
    with FileLock(models / ".lock", timeout=_LOCK_WAIT_S):
        if found := _find_ready(settings):
            return found  # another process was faster
        for left in models.glob(f"{_DRAFT}*"):  # left by a process that died: we hold the lock
            shutil.rmtree(left, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=models))
        try:
            return _put_in_place(_draft(source, settings, draft), models)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _draft(source: ModelSource, settings: EmbeddingSettings, folder: Path) -> PreparedModel:
    """Make a complete, verified copy in ``folder``."""
    revision = revision_of(source)
    original = TorchEmbedder(source, revision, device="cpu", threads=settings.threads)
    require_exportable(original.model)
    expected = [original.embed(texts) for texts in _SAMPLES]
    write_graph(original.model, folder)
    names = (GRAPH, WEIGHTS, TOKENIZER)
    for name in names:
        _sync_readable(folder / name)
    manifest = Manifest(
        format=FORMAT,
        model=settings.model,
        name=original.identity.name,
        revision=revision,
        width=original.identity.width,
        max_tokens=original.max_tokens,
        pad_id=int(original.model.tokenizer.pad_token_id or 0),
        pooling="mean",
        files=tuple(fingerprint_file(folder / name, name, sha256_of(folder / name)) for name in names),
        original=fingerprint_originals(source),
    )
    draft = PreparedModel(folder, manifest)
    _verify(draft, expected)
    (folder / MANIFEST).write_bytes(manifest_bytes(manifest))
    _sync_readable(folder / MANIFEST)
    return draft


def _verify(draft: PreparedModel, expected: Sequence[object]) -> None:
    """Raises InvalidArgument unless the copy gives the vectors of the original."""
    import numpy as np

    copy = onnx_engine.OnnxEmbedder(draft, threads=1)
    for texts, vectors in zip(_SAMPLES, expected, strict=True):
        # Not "greater than": a NaN must fail too.
        if not np.abs(copy.embed(texts) - vectors).max() <= TOLERANCE:
            raise unsupported_model_error("the exported copy gives other vectors")
    copy.close()


def _put_in_place(draft: PreparedModel, models: Path) -> PreparedModel:
    """Rename the finished folder to its final name; a damaged copy of that name is removed first."""
    place = models / draft.identity.revision
    draft.folder.chmod(0o755)  # prepared by root in an image, read by the server's own user
    if place.exists():
        place.rename(tempfile.mkdtemp(prefix=_DRAFT, dir=models))
    draft.folder.rename(place)
    _sync(models)
    for left in models.glob(f"{_DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)
    return PreparedModel(place, draft.manifest)


def _sync_readable(path: Path) -> None:
    path.chmod(0o644)
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _translate_os_errors(models: Path) -> Iterator[None]:
    """Raise failures of the file system as typed errors."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("There is no space left for the prepared model.") from error
        raise EmbeddingUnavailable(
            f"The prepared model cannot be written to {models}.", hint="Set embedding.models_dir to a writable folder."
        ) from error


_WORDS = ("the", "queue", "drains", "before", "an", "idle", "vault", "ends", "and", "readers", "wait", "for", "it")
_SAMPLES: tuple[list[str], ...] = (
    ["vault"],
    ["  Where did we leave the migration?\n", "", "Grüße aus Zürich, 東京 – naïve café №5 🙂"],
    [" ".join(_WORDS[:count]) for count in (2, 5, 9, 17)] + ["def f(x):\n\treturn x['a'] != None  # TODO\r\n"],
    [" ".join(_WORDS * 12), " ".join(_WORDS * 40), "end"],
)
