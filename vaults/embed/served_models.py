"""The models a process serves with: the server's own, and those that vaults name instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from vaults.embed import bundled
from vaults.embed.backend import Embedder
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingSettings

AT_ENDPOINT = "endpoint:"
"""Before the name of a model behind ``embedding.endpoint``; any other name is one of this machine."""

_NOT_THE_VAULTS = {"endpoint": None, "api_key_file": None, "query_prefix": None, "document_prefix": None}

MakeService = Callable[[EmbeddingSettings, Callable[[], Embedder] | None], EmbeddingService]
"""Makes the service of a model; the second is what loads it, None: what its settings say."""


class ServedModels:
    """Belongs to one event loop. A service is made when it is first asked for; its model loads with its first text."""

    def __init__(self, settings: EmbeddingSettings, own: EmbeddingService, make: MakeService) -> None:
        self.own = own
        self._settings = settings
        self._make = make
        self._named: dict[str, EmbeddingService] = {}

    def of(self, name: str | None) -> EmbeddingService:
        """The service of a model; None is the server's own. One that cannot be is a service that is unavailable and
        says why."""
        if name is None or self._settings.engine == "off":
            return self.own
        if name not in self._named:
            wanted = settings_of(self._settings, name)
            if wanted is None:
                self._named[name] = self._make(
                    self._settings.model_copy(update={"model": name}), partial(_refuse, name)
                )
            else:
                self._named[name] = self.own if is_same_model(wanted, self._settings) else self._make(wanted, None)
        return self._named[name]

    @property
    def services(self) -> tuple[EmbeddingService, ...]:
        """Those that were asked for, the server's own first."""
        return tuple(dict.fromkeys((self.own, *self._named.values())))

    async def close(self) -> None:
        """Close all of them."""
        await asyncio.gather(*(each.close() for each in self.services))


def settings_of(settings: EmbeddingSettings, name: str) -> EmbeddingSettings | None:
    """The server's settings with another model; None for one behind an endpoint where there is none."""
    model = name.removeprefix(AT_ENDPOINT)
    if model == name:
        engine = "auto" if settings.engine in ("endpoint", "off") else settings.engine
        return settings.model_copy(update={**_NOT_THE_VAULTS, "engine": engine, "model": name})
    if settings.endpoint is None:
        return None
    if settings.engine == "endpoint" and model == settings.model:
        return settings
    # What is put before texts was set for another model.
    prefixes = {"query_prefix": None, "document_prefix": None}
    return settings.model_copy(update={**prefixes, "engine": "endpoint", "model": model})


def is_same_model(one: EmbeddingSettings, other: EmbeddingSettings) -> bool:
    """Whether two settings have the same model serve, as far as names tell."""
    if (one.engine == "endpoint") != (other.engine == "endpoint"):
        return False
    return one.model == other.model or (bundled.is_bundled(one.model) and bundled.is_bundled(other.model))


def _refuse(name: str) -> Embedder:
    raise EmbeddingUnavailable(f"the vault's model {name} is behind an endpoint, and embedding.endpoint is not set")
