"""Settings of storage and search: frozen sections, composed and read from outside by ``server.settings``.

A field is the one place where a setting exists: its default and description feed ``config show``, the README's
table and the validation at start.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen group of settings; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StorageSettings(Section):
    open_vaults: Annotated[
        int, Field(ge=1, le=1024, description="vaults kept open at once; the least used is closed")
    ] = 64
    idle_close_s: Annotated[float, Field(gt=0, description="seconds after which an unused vault is closed")] = 300.0
    memory_budget_mb: Annotated[int, Field(ge=16, description="MB of vectors held in memory over all vaults")] = 2048
    readers: Annotated[int, Field(ge=1, le=8, description="read connections per open vault, opened on demand")] = 2
    busy_timeout_ms: Annotated[int, Field(ge=0, description="milliseconds to wait for another process's write")] = 5000
    synchronous: Annotated[
        Literal["full", "normal"], Field(description="full: an answer survives power loss; normal: only a crash")
    ] = "full"
    reserve_mb: Annotated[int, Field(ge=0, description="MB of disk left free: below it writes answer storage_full")] = (
        32
    )


class EmbeddingSettings(Section):
    engine: Annotated[
        Literal["auto", "onnx", "sentence-transformers", "off"],
        Field(
            description="auto: the prepared ONNX copy if there is one, else sentence-transformers; off: keyword only"
        ),
    ] = "auto"
    model: Annotated[str, Field(description="bundled all-MiniLM-L6-v2, or a sentence-transformers name or folder")] = (
        "all-MiniLM-L6-v2"
    )
    device: Annotated[str, Field(description="torch device for sentence-transformers")] = "cpu"
    threads: Annotated[int, Field(ge=1, le=64, description="threads inside the model")] = 1
    models_dir: Annotated[str | None, Field(description="prepared models; default: inside the environment")] = None
    timeout_s: Annotated[float, Field(gt=0, description="seconds of silence until the model counts as hung")] = 30.0
    write_wait_s: Annotated[
        float, Field(ge=0, description="seconds a write waits for its vector before it answers pending")
    ] = 2.0
    batch: Annotated[int, Field(ge=1, le=512, description="texts per model call")] = 64
    queue: Annotated[int, Field(ge=1, description="texts waiting for the model before overloaded")] = 4096
    query_cache: Annotated[int, Field(ge=0, description="query vectors kept")] = 2048


class IndexSettings(Section):
    flat_limit: Annotated[int, Field(ge=1000, description="passages up to which search is exact")] = 50_000
    refine_factor: Annotated[int, Field(ge=1, le=100, description="candidates re-scored per result above that")] = 30
    passage_tokens: Annotated[int, Field(ge=32, le=512, description="tokens of a passage at most")] = 200


class SearchSettings(Section):
    candidates: Annotated[int, Field(ge=10, le=2000, description="candidates per channel before fusion")] = 100
    fusion: Annotated[
        Literal["auto", "rrf", "fixed"],
        Field(description="auto: dense weight by passage length; rrf; fixed: 0.7 dense"),
    ] = "auto"
    near_duplicate: Annotated[float, Field(gt=0, le=1, description="cosine from which a memory counts as similar")] = (
        0.92
    )
