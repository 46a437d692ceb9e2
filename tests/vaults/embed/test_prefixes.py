"""Which texts go before texts, and the settings of an endpoint.

Covers vaults.embed.prefixes.
"""

from __future__ import annotations

from typing import Any

import pytest

from server.settings import load
from vaults.embed.engines import model_info
from vaults.embed.prefixes import NO_PREFIXES, Prefixes, prefixes_of, usual_prefixes
from vaults.embed.preparation import prepare_model
from vaults.errors import InvalidArgument
from vaults.settings import EmbeddingSettings, find_embedding_protocol

PASSAGES = "Represent this sentence for searching relevant passages: "
ENDPOINT: dict[str, Any] = {
    "embedding.engine": "endpoint",
    "embedding.endpoint": "http://127.0.0.1:11434/api/embed",
    "embedding.model": "nomic-embed-text",
}


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("bge-large:335m", PASSAGES, ""),
        ("BAAI/bge-base-zh-v1.5", "为这个句子生成表示以用于检索相关文章:", ""),
        ("bge-m3:latest", "", ""),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("google/embeddinggemma-300m", "task: search result | query: ", "title: none | text: "),
        ("mxbai-embed-large", PASSAGES, ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-m-v2.0", "query: ", ""),
        ("snowflake-arctic-embed:33m", PASSAGES, ""),
        ("text-embedding-3-small", "", ""),
        ("all-minilm", "", ""),
    ],
)
def test_a_model_gets_what_its_card_says(model: str, query: str, document: str) -> None:
    assert usual_prefixes(model) == Prefixes(query, document)


@pytest.mark.parametrize(
    "model", ["qwen3-embedding:0.6b", "Qwen/Qwen3-Embedding-8B", "intfloat/e5-mistral-7b-instruct"]
)
def test_models_that_take_instructions_get_one_before_questions(model: str) -> None:
    found = usual_prefixes(model)
    assert found.query.startswith("Instruct: ")
    assert "\nQuery:" in found.query
    assert found.document == ""


def test_what_is_set_goes_before_the_table() -> None:
    settings = load(flags={**ENDPOINT, "embedding.query_prefix": ""}, environment={}).settings.embedding
    assert prefixes_of(settings) == Prefixes("", "search_document: ")


def test_models_of_this_machine_get_none() -> None:
    assert prefixes_of(EmbeddingSettings(model="intfloat/e5-small", query_prefix="query: ")) == NO_PREFIXES


@pytest.mark.parametrize(
    ("url", "spoken"),
    [
        ("http://localhost:11434/api/embed", "ollama"),
        ("https://api.openai.com/v1/embeddings", "openai"),
        ("https://x.example/openai/deployments/d/embeddings?api-version=1", "openai"),
        ("http://tei:8080/embed", "tei"),
        ("http://localhost:11434", None),
        ("http://localhost:11434/api/embeddings/", None),
    ],
)
def test_the_address_tells_the_protocol(url: str, spoken: str | None) -> None:
    assert find_embedding_protocol(url) == spoken


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"embedding.endpoint": None}, "must have embedding.endpoint"),
        ({"embedding.endpoint": "http://127.0.0.1:11434"}, "ends in /api/embed"),
        ({"embedding.endpoint": "http://user:pw@127.0.0.1/api/embed"}, "endpoint string should match"),
        ({"embedding.model": None}, "must have embedding.model"),
        ({"embedding.api_key_file": "/k", "embedding.endpoint": "http://10.0.0.5/embed"}, "https"),
        ({"embedding.api_key_file": "/k", "embedding.endpoint": None, "embedding.engine": "auto"}, "only with"),
    ],
)
def test_settings_that_cannot_work_stop_the_start(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        load(flags={**ENDPOINT, **changes}, environment={})


def test_the_address_may_stay_set_when_another_engine_serves() -> None:
    flags = {**ENDPOINT, "embedding.engine": "auto", "embedding.model": None}
    assert load(flags=flags, environment={}).settings.embedding.model == "all-MiniLM-L6-v2"


def test_a_model_behind_an_endpoint_is_described_by_its_address_and_never_prepared() -> None:
    url = "https://x.example/embeddings?key=secret"
    settings = load(flags={**ENDPOINT, "embedding.endpoint": url}, environment={}).settings.embedding
    info = model_info(settings)
    assert (info.engine, info.model, info.source) == ("endpoint", "nomic-embed-text", "https://x.example/embeddings")
    with pytest.raises(InvalidArgument, match="nothing is to prepare"):
        prepare_model(settings)
