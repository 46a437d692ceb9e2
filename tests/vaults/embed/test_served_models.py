"""A name is a model of this machine, or one behind the endpoint, or the server's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fakes import HashEmbedder
from vaults.embed.backend import Embedder
from vaults.embed.served_models import ServedModels, settings_of
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable
from vaults.observer import NullObserver
from vaults.settings import EmbeddingSettings

HERE = EmbeddingSettings()
THERE = EmbeddingSettings(
    engine="endpoint", endpoint="http://127.0.0.1:1/api/embed", model="e5-small", query_prefix="ask: ", threads=2
)


def make(settings: EmbeddingSettings, load: Callable[[], Embedder] | None) -> EmbeddingService:
    return EmbeddingService(settings, NullObserver(), load)


def served(settings: EmbeddingSettings) -> ServedModels:
    return ServedModels(settings, make(settings, HashEmbedder), make)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (HERE, None),
        (HERE, "all-MiniLM-L6-v2"),
        (HERE, "sentence-transformers/all-MiniLM-L6-v2"),
        (THERE, "endpoint:e5-small"),
        (EmbeddingSettings(engine="off"), "all-MiniLM-L6-v2"),
    ],
)
def test_the_servers_own_model_is_loaded_once_whatever_it_is_called(
    settings: EmbeddingSettings, name: str | None
) -> None:
    models = served(settings)
    assert models.of(name) is models.own
    assert models.services == (models.own,)


def test_another_model_has_a_service_of_its_own_and_keeps_it() -> None:
    models = served(THERE)
    other = models.of("all-MiniLM-L6-v2")
    assert other is not models.own
    assert other is models.of("all-MiniLM-L6-v2")
    assert models.services == (models.own, other)


def test_prefixes_and_endpoint_belong_to_the_servers_model() -> None:
    local, behind = settings_of(THERE, "all-MiniLM-L6-v2"), settings_of(THERE, "endpoint:bge-m3")
    assert local is not None
    assert (local.engine, local.endpoint, local.query_prefix, local.threads) == ("auto", None, None, 2)
    assert behind is not None
    assert (behind.engine, behind.model, behind.endpoint, behind.query_prefix) == (
        "endpoint",
        "bge-m3",
        THERE.endpoint,
        None,
    )


async def test_a_model_behind_an_endpoint_that_is_not_set_is_unavailable_and_says_so() -> None:
    models = served(HERE)
    with pytest.raises(EmbeddingUnavailable, match=r"embedding\.endpoint is not set"):
        await models.of("endpoint:bge-m3").query("anything")
    await models.close()
