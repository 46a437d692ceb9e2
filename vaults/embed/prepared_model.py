"""A prepared model: what ONNX Runtime serves, described by its manifest. Of the bundled model these are its own files,
of which nothing is copied; of another a copy on disk.

::

    <models>/<revision>/manifest.json      written last; without it the folder does not count
                        model.onnx          the graph
                        weights.bin         beside it, so that it is mapped and not read (60 MB less memory)
                        tokenizer.json      the tokenizer the original really uses, not the one it ships

A copy is used when its files have the recorded size and time; where only the time differs (an image layer, a
restored backup) their digests decide.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from vaults.embed import bundled
from vaults.embed.backend import RECIPE, ModelIdentity
from vaults.embed.digests import sha256_of
from vaults.embed.model_source import ModelSource, find_source
from vaults.settings import EmbeddingSettings

GRAPH, WEIGHTS, TOKENIZER, MANIFEST = "model.onnx", "weights.bin", "tokenizer.json", "manifest.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class FileFingerprint:
    """A recorded file: ``mtime`` is in whole seconds, because archives and image layers keep no more."""

    path: str
    size: int
    mtime: int
    sha256: str = ""

    def same_size(self, root: Path) -> bool:
        path = root / self.path
        return path.is_file() and path.stat().st_size == self.size

    def same_time(self, root: Path) -> bool:
        return int((root / self.path).stat().st_mtime) == self.mtime

    def same_bytes(self, root: Path) -> bool:
        return self.same_size(root) and sha256_of(root / self.path) == self.sha256


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the copy is."""

    format: int
    model: str  # the setting it was prepared for
    name: str
    revision: str
    width: int
    max_tokens: int
    pad_id: int
    pooling: str
    files: tuple[FileFingerprint, ...]
    original: tuple[FileFingerprint, ...]  # the files it was made from, to notice that they changed


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A model that may be served from ``folder``, which holds its weights and its tokenizer, and its graph unless that
    lies elsewhere."""

    folder: Path
    manifest: Manifest
    graph_elsewhere: Path | None = None

    @property
    def graph(self) -> Path:
        return self.graph_elsewhere or self.folder / GRAPH

    @property
    def identity(self) -> ModelIdentity:
        what = self.manifest
        return ModelIdentity(what.name, what.revision, what.width, normalised=True, recipe=RECIPE)

    def looks_intact(self) -> bool:
        """Cheap check: sizes and times; the digest only of a file whose time differs."""
        files = self.manifest.files
        return all(mark.same_size(self.folder) for mark in files) and all(
            mark.same_time(self.folder) or mark.same_bytes(self.folder) for mark in files
        )

    def is_intact(self) -> bool:
        """Check of every byte; 50 ms for the bundled model."""
        return all(mark.same_bytes(self.folder) for mark in self.manifest.files)


def models_folder(settings: EmbeddingSettings) -> Path:
    """Where prepared models live: as configured, or in the environment the server is installed in."""
    if settings.models_dir is not None:
        return Path(settings.models_dir).expanduser()
    return Path(sys.prefix) / "share" / "strongroom" / "models"


def find_prepared(settings: EmbeddingSettings) -> PreparedModel | None:
    """The bundled model, or the copy of another; None if it was never made, is damaged, or its original has changed.

    The original need not exist here: an image may hold the copy alone.
    """
    if bundled.is_bundled(settings.model) and (found := _find_bundled()):
        return found
    for path in sorted(models_folder(settings).glob(f"*/{MANIFEST}")):
        found = read_prepared(path.parent)
        if found and _is_copy_of(found.manifest, settings.model) and found.looks_intact():
            return found
    return None


def list_prepared(settings: EmbeddingSettings) -> list[PreparedModel]:
    """Every copy that looks intact, of whatever model."""
    found = (read_prepared(path.parent) for path in sorted(models_folder(settings).glob(f"*/{MANIFEST}")))
    return [each for each in found if each is not None and each.looks_intact()]


_BUNDLED = Manifest(
    format=FORMAT,
    model=bundled.NAME,
    name=bundled.NAME,
    revision=bundled.DIGEST,
    width=bundled.WIDTH,
    max_tokens=bundled.MAX_TOKENS,
    pad_id=0,
    pooling="mean",
    files=(
        FileFingerprint(bundled.WEIGHTS, bundled.WEIGHTS_SIZE, 0, bundled.DIGEST),
        FileFingerprint(TOKENIZER, bundled.TOKENIZER_SIZE, 0, bundled.TOKENIZER_DIGEST),
    ),
    original=(),
)


def _find_bundled() -> PreparedModel | None:
    """The bundled model, if its files are those its graph was written for. The digest of the weights is not asked for:
    a package is installed whole, and an installer has compared it; ``strongroom model prepare`` does it again."""
    found = bundled.bundled_folder()
    if found is None:
        return None
    # Some installers make links to files they keep, and ONNX Runtime follows none out of the folder it is told.
    folder = (found / bundled.WEIGHTS).resolve().parent
    if not all(mark.same_size(folder) for mark in _BUNDLED.files):
        return None
    return PreparedModel(folder, _BUNDLED, bundled.GRAPH)


def read_prepared(folder: Path) -> PreparedModel | None:
    """The copy in ``folder``, unchecked; None where the manifest is absent, broken or of another format."""
    from pydantic import TypeAdapter, ValidationError

    try:
        manifest = TypeAdapter(Manifest).validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError):
        return None
    return PreparedModel(folder, manifest) if manifest.format == FORMAT else None


def manifest_bytes(manifest: Manifest) -> bytes:
    """The manifest as stored: JSON that people can read."""
    from pydantic import TypeAdapter

    return TypeAdapter(Manifest).dump_json(manifest, indent=2) + b"\n"


def fingerprint_file(path: Path, name: str, digest: str = "") -> FileFingerprint:
    """Fingerprint of ``path`` as it is now, recorded under ``name``."""
    stat = path.stat()
    return FileFingerprint(name, stat.st_size, int(stat.st_mtime), digest)


def fingerprint_originals(source: ModelSource) -> tuple[FileFingerprint, ...]:
    return tuple(fingerprint_file(path, str(path)) for path in source.files())


def _is_copy_of(manifest: Manifest, model: str) -> bool:
    """Whether the copy was made from the model configured now."""
    if bundled.is_bundled(model):
        return manifest.revision == bundled.DIGEST
    if manifest.model != model:
        return False
    source = find_source(model)
    return source is None or fingerprint_originals(source) == manifest.original
