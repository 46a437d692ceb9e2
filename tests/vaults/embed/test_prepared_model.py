"""Finding, trusting and refusing prepared copies; choosing the engine. Files only; one model is loaded.

Covers vaults.embed.digests, vaults.embed.model_source, vaults.embed.models_extra, vaults.embed.preparation.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import get_args

import pytest

from vaults.embed import bundled
from vaults.embed.digests import sha256_of
from vaults.embed.engines import LOADERS, load_embedder, model_info
from vaults.embed.model_source import ModelSource, find_source, revision_of
from vaults.embed.models_extra import EXTRA
from vaults.embed.preparation import prepare_model
from vaults.embed.prepared_model import (
    FORMAT,
    MANIFEST,
    Manifest,
    find_prepared,
    fingerprint_file,
    fingerprint_originals,
    manifest_bytes,
    models_folder,
)
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingEngine, EmbeddingSettings


def copy_of(models: Path, model: str = bundled.NAME, original: ModelSource | None = None) -> Path:
    """A copy as ``prepare_model`` leaves it, with small files in place of a model."""
    revision = revision_of(original) if original else bundled.DIGEST
    folder = models / revision
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"graph")
    files = (fingerprint_file(folder / "model.onnx", "model.onnx", sha256_of(folder / "model.onnx")),)
    marks = fingerprint_originals(original) if original else ()
    manifest = Manifest(FORMAT, model, Path(model).name, revision, 384, 256, 0, "mean", files, marks)
    (folder / MANIFEST).write_bytes(manifest_bytes(manifest))
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> EmbeddingSettings:
    return EmbeddingSettings(models_dir=str(tmp_path / "models"))


@pytest.fixture
def copy(settings: EmbeddingSettings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the bundled model, whose own files are absent."""
    monkeypatch.setattr(bundled, "bundled_folder", lambda: None)
    return copy_of(models_folder(settings))


def test_an_intact_copy_is_found_and_says_what_it_is(settings: EmbeddingSettings, copy: Path) -> None:
    found = find_prepared(settings)
    assert found
    assert (found.folder, found.identity.revision) == (copy, bundled.DIGEST)
    info = model_info(settings)
    assert (info.engine, info.width, info.intact, info.prepared) == ("onnx", 384, True, str(copy))


def test_a_copy_whose_times_changed_is_trusted_by_its_digest(settings: EmbeddingSettings, copy: Path) -> None:
    os.utime(copy / "model.onnx", (1, 1))
    assert find_prepared(settings)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.onnx").write_bytes(b"grap"),
        lambda folder: (folder / "model.onnx").unlink(),
        lambda folder: ((folder / "model.onnx").write_bytes(b"grapf"), os.utime(folder / "model.onnx", (1, 1))),
        lambda folder: (folder / MANIFEST).unlink(),
        lambda folder: (folder / MANIFEST).write_bytes(b'{"format": 1'),
        lambda folder: (folder / MANIFEST).write_bytes(
            (folder / MANIFEST).read_bytes().replace(b'"format": 1', b'"format": 2')
        ),
    ],
    ids=["shorter", "gone", "other bytes", "no manifest", "half a manifest", "another format"],
)
def test_a_damaged_copy_is_not_used(settings: EmbeddingSettings, copy: Path, damage: object) -> None:
    damage(copy)  # type: ignore[operator]
    assert find_prepared(settings) is None
    assert model_info(settings).engine == "sentence-transformers"


def test_a_full_check_sees_what_size_and_time_hide(settings: EmbeddingSettings, copy: Path) -> None:
    stat = (copy / "model.onnx").stat()
    (copy / "model.onnx").write_bytes(b"grapf")
    os.utime(copy / "model.onnx", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert find_prepared(settings)
    assert model_info(settings).intact is False


def test_the_copy_of_another_model_is_not_used(
    settings: EmbeddingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of(models_folder(settings), model=str(tmp_path / "elsewhere"), original=folder_model(tmp_path / "elsewhere"))
    assert find_prepared(settings.model_copy(update={"model": str(tmp_path / "mine")})) is None
    monkeypatch.setattr(bundled, "bundled_folder", lambda: None)
    assert find_prepared(settings) is None


def folder_model(folder: Path) -> ModelSource:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "config.json").write_text("{}")
    source = find_source(str(folder))
    assert source
    return source


def test_a_model_by_folder_is_noticed_to_have_changed(settings: EmbeddingSettings, tmp_path: Path) -> None:
    source = folder_model(tmp_path / "mine")
    mine = settings.model_copy(update={"model": str(source.folder)})
    before = revision_of(source)
    copy_of(models_folder(settings), mine.model, source)
    assert find_prepared(mine)
    (source.folder / "config.json").write_text('{"pooling": "other"}')
    assert find_prepared(mine) is None
    assert revision_of(source) != before


def test_a_copy_serves_without_its_original(settings: EmbeddingSettings, tmp_path: Path) -> None:
    source = folder_model(tmp_path / "mine")
    mine = settings.model_copy(update={"model": str(source.folder)})
    copy_of(models_folder(settings), mine.model, source)
    source.folder.rename(tmp_path / "gone")
    assert find_prepared(mine)


def test_onnx_without_a_copy_says_what_to_run(settings: EmbeddingSettings, tmp_path: Path) -> None:
    mine = str(folder_model(tmp_path / "mine").folder)
    with pytest.raises(EmbeddingUnavailable) as refused:
        load_embedder(settings.model_copy(update={"engine": "onnx", "model": mine}))
    assert "strongroom model prepare" in str(refused.value.hint)


def test_a_model_that_is_not_here_is_never_fetched(settings: EmbeddingSettings) -> None:
    absent = settings.model_copy(update={"model": "nobody/no-such-model"})
    with pytest.raises(EmbeddingUnavailable, match="not on this machine"):
        load_embedder(absent)
    with pytest.raises(EmbeddingUnavailable, match="not on this machine"):
        prepare_model(absent)
    assert model_info(absent).source is None


def test_switched_off_nothing_is_loaded(settings: EmbeddingSettings) -> None:
    with pytest.raises(EmbeddingUnavailable, match="switched off"):
        load_embedder(settings.model_copy(update={"engine": "off"}))


def test_bundled_weights_that_are_not_the_published_ones_are_refused(
    settings: EmbeddingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_model(tmp_path / "bundled")
    monkeypatch.setattr(bundled, "bundled_folder", lambda: source.folder)
    with pytest.raises(EmbeddingUnavailable, match="not the published ones"):
        load_embedder(settings)


def test_the_installed_bundled_weights_are_the_published_ones() -> None:
    source = find_source(bundled.NAME)
    assert source
    assert revision_of(source) == bundled.DIGEST


def test_the_bundled_model_is_served_from_its_own_files(settings: EmbeddingSettings) -> None:
    prepared, info = prepare_model(settings), model_info(settings)
    assert prepared.folder.samefile(bundled.bundled_folder() or "")
    assert (info.engine, info.prepared, info.intact, info.width) == ("onnx", str(prepared.folder), True, 384)
    assert not models_folder(settings).exists(), "nothing is copied"


def test_it_is_served_where_an_installer_made_links_to_its_files(
    settings: EmbeddingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundled.bundled_folder()
    assert folder
    linked = tmp_path / "linked"
    linked.mkdir()
    for name in (bundled.WEIGHTS, "tokenizer.json"):
        (linked / name).symlink_to(folder / name)
    monkeypatch.setattr(bundled, "bundled_folder", lambda: linked)
    assert load_embedder(settings).embed(["found"]).shape == (1, 384)


def test_bundled_weights_of_the_right_size_that_are_not_the_published_ones_are_noticed(
    settings: EmbeddingSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in ((bundled.WEIGHTS, bundled.WEIGHTS_SIZE), ("tokenizer.json", bundled.TOKENIZER_SIZE)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    monkeypatch.setattr(bundled, "bundled_folder", lambda: tmp_path)
    assert model_info(settings).intact is False
    with pytest.raises(EmbeddingUnavailable, match="not the published ones"):
        prepare_model(settings)


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra for other models."""
    for name in ("torch", "sentence_transformers", "transformers", "huggingface_hub"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("light")
def test_without_the_extra_another_model_names_it(settings: EmbeddingSettings, tmp_path: Path) -> None:
    mine = str(folder_model(tmp_path / "mine").folder)
    for wanted in (mine, "intfloat/e5-small"):
        other = settings.model_copy(update={"model": wanted})
        for act in (load_embedder, prepare_model):
            with pytest.raises(EmbeddingUnavailable) as refused:
                act(other)
            assert EXTRA in str(refused.value.hint), (wanted, act)
    assert model_info(settings.model_copy(update={"model": "intfloat/e5-small"})).source is None
    with pytest.raises(EmbeddingUnavailable) as refused:
        load_embedder(settings.model_copy(update={"device": "cuda"}))
    assert EXTRA in str(refused.value.hint), "the bundled model on another device"


def test_a_device_other_than_the_processor_is_served_by_torch(settings: EmbeddingSettings, copy: Path) -> None:
    assert model_info(settings.model_copy(update={"device": "cuda"})).engine == "sentence-transformers"


def test_every_engine_that_can_be_named_can_be_loaded() -> None:
    assert set(LOADERS) == set(get_args(EmbeddingEngine))
