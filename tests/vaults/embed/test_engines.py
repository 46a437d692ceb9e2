"""The real engines: the ONNX copy against sentence-transformers, and preparing a copy from start to end.

Covers vaults.embed.backend, vaults.embed.onnx_engine, vaults.embed.onnx_export, vaults.embed.torch_engine,
vaults.embed.vector_checks.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaults.embed import bundled
from vaults.embed.backend import Embedder
from vaults.embed.engines import load_embedder
from vaults.embed.preparation import TOLERANCE, prepare_model
from vaults.embed.prepared_model import TOKENIZER, find_prepared
from vaults.embed.torch_engine import load_sentence_transformer
from vaults.errors import EmbeddingUnavailable, InvalidArgument
from vaults.observer import NullObserver
from vaults.settings import EmbeddingSettings

WORDS = "agents keep what they learn in vaults nobody else can open so that next week starts where this one ended"
TEXTS = [
    "",
    "vault",
    "  spaces around\n",
    "Ünïcode, 東京, 🙂 and a\ttab",
    "lone \ud800 surrogate".encode("utf-8", "replace").decode(),
    *(" ".join(WORDS.split()[:n]) for n in range(1, 20)),
    f"{WORDS} " * 5,
    f"{WORDS} " * 30,
    "x" * 3000,
]


@pytest.fixture(scope="session")
def prepared_settings() -> EmbeddingSettings:
    """The default location; made there if it is absent, as ``make serve`` does."""
    settings = EmbeddingSettings()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch says while it is imported is not ours
        prepare_model(settings)
    return settings


@pytest.fixture(scope="session")
def onnx(prepared_settings: EmbeddingSettings) -> Embedder:
    return load_embedder(prepared_settings.model_copy(update={"engine": "onnx"}))


@pytest.fixture(scope="session")
def original(prepared_settings: EmbeddingSettings) -> Embedder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_embedder(prepared_settings.model_copy(update={"engine": "sentence-transformers"}))


def test_both_engines_give_the_same_vectors_under_the_same_identity(onnx: Embedder, original: Embedder) -> None:
    assert onnx.identity == original.identity
    assert onnx.max_tokens == original.max_tokens == bundled.MAX_TOKENS
    ours, theirs = onnx.embed(TEXTS), original.embed(TEXTS)
    assert ours.dtype == theirs.dtype == np.float32
    assert np.abs(ours - theirs).max() <= TOLERANCE


def test_a_vector_does_not_depend_on_its_batch(onnx: Embedder) -> None:
    together = onnx.embed(TEXTS)
    alone = np.concatenate([onnx.embed([text]) for text in TEXTS])
    assert np.abs(together - alone).max() <= TOLERANCE
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)


def test_short_texts_are_not_padded_to_the_models_fixed_length(onnx: Any) -> None:
    shapes: list[tuple[int, ...]] = []
    session = onnx._session

    class Watched:
        def run(self, names: Any, feeds: dict[str, np.ndarray]) -> Any:
            shapes.append(feeds["input_ids"].shape)
            return session.run(names, feeds)

    onnx._session = Watched()
    try:
        onnx.embed(["two words", "one"])
    finally:
        onnx._session = session
    assert shapes == [(2, 4)]


def test_serving_with_onnx_imports_no_torch(prepared_settings: EmbeddingSettings) -> None:
    code = (
        "import asyncio, sys\n"
        "from vaults.embed.service import EmbeddingService\n"
        "from vaults.observer import NullObserver\n"
        "from vaults.settings import EmbeddingSettings\n"
        "async def main():\n"
        "    service = EmbeddingService(EmbeddingSettings(), NullObserver())\n"
        "    await service.query('where did we leave it?')\n"
        "    print(service.state().engine, *({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)))\n"
        "    await service.close()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["onnx"]
    assert done.stderr == ""


def test_the_service_survives_a_text_the_tokenizer_refuses(onnx: Embedder) -> None:
    from vaults.embed.vector_checks import embed_rows

    rows = embed_rows(onnx.embed, ["fine", "lone \ud800 surrogate", "fine too"], onnx.identity.width)
    assert [row is None for row in rows] == [False, True, False]


@pytest.fixture(scope="session")
def tiny(original: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Builds sentence-transformers models with random weights, small enough to export in a second."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny")
    source = bundled.bundled_folder()
    assert source
    BertTokenizer.from_pretrained(source).save_pretrained(folder / "bert")
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=30522, **shape)).save_pretrained(folder / "bert")

    def build(pooling: str, tokens: int) -> Path:
        place = folder / f"{pooling}-{tokens}"
        layers = [Transformer(str(folder / "bert"), max_seq_length=tokens), Pooling(32, pooling_mode=pooling)]
        SentenceTransformer(modules=layers).save(str(place))
        return place

    return build


def test_preparing_makes_a_verified_copy_once_and_again_when_the_original_changes(tiny: Any, tmp_path: Path) -> None:
    folder = tiny("mean", 40)
    settings = EmbeddingSettings(model=str(folder), models_dir=str(tmp_path))
    threads = [threading.Thread(target=prepare_model, args=(settings,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = prepare_model(settings)
    made = (first.folder / TOKENIZER).stat().st_mtime_ns
    assert (prepare_model(settings).folder / TOKENIZER).stat().st_mtime_ns == made
    assert (first.identity.width, first.manifest.max_tokens) == (32, 40)
    assert {path.name for path in tmp_path.iterdir()} <= {".lock", first.identity.revision}
    expected = load_sentence_transformer(folder, device="cpu", threads=1).encode(TEXTS, normalize_embeddings=True)
    assert np.abs(load_embedder(settings).embed(TEXTS) - expected).max() <= TOLERANCE

    (first.folder / TOKENIZER).write_text("{}")
    assert find_prepared(settings) is None
    assert prepare_model(settings).is_intact()


def test_a_model_with_other_pooling_is_refused_and_leaves_nothing(tiny: Any, tmp_path: Path) -> None:
    settings = EmbeddingSettings(model=str(tiny("cls", 40)), models_dir=str(tmp_path))
    with pytest.raises(InvalidArgument, match="can only be served by sentence-transformers"):
        prepare_model(settings)
    assert {path.name for path in tmp_path.iterdir()} <= {".lock"}
    found = load_embedder(settings)
    assert found.embed(["still served"]).shape == (1, 32)


@pytest.mark.parametrize("kind", ["layer", "architecture"])
def test_a_model_that_brings_code_is_refused_and_the_code_is_not_run(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(tiny("mean", 24), tmp_path / "model", dirs_exist_ok=True)
    (folder / "theirs.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Theirs: pass\n")
    name = {"layer": "modules.json", "architecture": "config.json"}[kind]
    told = json.loads((folder / name).read_text())
    if kind == "layer":
        told[1]["type"] = "theirs.Theirs"
    else:
        told |= {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Theirs", "AutoModel": "theirs.Theirs"}}
    (folder / name).write_text(json.dumps(told))
    for act in (load_embedder, prepare_model):
        with pytest.raises(EmbeddingUnavailable, match="brings code of its own"):
            act(EmbeddingSettings(model=str(folder), models_dir=str(tmp_path / "models")))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("engine", ["onnx", "sentence-transformers", "auto"])
@pytest.mark.parametrize("device", ["cuda:7", "tpu-9000"])
def test_a_device_that_is_not_here_is_never_the_processor_instead(engine: str, device: str) -> None:
    settings = EmbeddingSettings.model_validate({"engine": engine, "device": device})
    with pytest.raises(EmbeddingUnavailable, match=device):
        load_embedder(settings)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_onnx_runs_on_the_card_that_is_set(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one: here its name is taken by the library, and what it is asked for is looked at."""
    import onnxruntime

    asked: dict[str, Any] = {}
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **given: asked.update(given))
    load_embedder(EmbeddingSettings(engine="onnx", device=device))
    number = device.partition(":")[2] or "0"
    assert asked["providers"] == [("CUDAExecutionProvider", {"device_id": number, "use_tf32": "0"})]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux says how many threads there are")
def test_both_engines_work_with_as_many_threads_as_are_set(onnx: Embedder) -> None:
    import torch

    before = count_threads()
    model = load_embedder(EmbeddingSettings(engine="onnx", threads=3))
    assert count_threads() == before + 2, "the caller is the third"
    model.close()
    try:
        load_embedder(EmbeddingSettings(engine="sentence-transformers", threads=2))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def count_threads() -> int:
    """Threads of this process, also those Python knows nothing of."""
    return len(list(Path("/proc/self/task").iterdir()))


def test_a_copy_that_gives_other_vectors_is_not_put_in_place(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vaults.embed import onnx_engine

    pool = onnx_engine._pool_mean
    monkeypatch.setattr(onnx_engine, "_pool_mean", lambda hidden, mask: pool(hidden, mask) + 2e-5)
    with pytest.raises(InvalidArgument, match="other vectors"):
        prepare_model(EmbeddingSettings(model=str(tiny("mean", 32)), models_dir=str(tmp_path)))
    assert {path.name for path in tmp_path.iterdir()} <= {".lock"}


async def test_the_bundled_model_finds_what_is_meant(prepared_settings: EmbeddingSettings) -> None:
    from vaults.embed.service import EmbeddingService

    service = EmbeddingService(prepared_settings, NullObserver())
    notes = ["The database migration failed on Friday.", "Lunch is at noon.", "Our cat sleeps all day."]
    vectors = await service.texts(notes, urgent=True)
    query = await service.query("When did the schema upgrade break?")
    await service.close()
    assert int(np.argmax(vectors @ query)) == 0
