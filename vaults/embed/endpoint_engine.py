"""The endpoint engine: vectors from a server the operator named, in the place of a model in this process.

It trusts the server with nothing but the numbers: their count, width and finiteness are looked at, and now and then
whether they are still of the model they were of.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from vaults.embed.backend import RECIPE, ModelIdentity
from vaults.embed.batches import ENDPOINT_CHARACTERS, ENDPOINT_TEXTS, split_into_batches
from vaults.embed.endpoint_connection import EndpointConnection, TextsRefused
from vaults.embed.endpoint_stamps import PROBE, StampedModel, find_or_keep, make_stamp, read_stamps
from vaults.embed.prefixes import prefixes_of
from vaults.errors import EmbeddingUnavailable
from vaults.settings import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)

MAX_CHARACTERS = 6_000
"""Characters of a text that are sent: more than any passage has, and no more tokens than the usual models read."""

PROBE_AGAIN_S = 600.0
"""Seconds after which the next call looks whether the model is still the same."""


class EndpointEmbedder:
    """One model behind an endpoint. Raises ``EmbeddingUnavailable`` where the endpoint does not answer, when it is made
    as well as later."""

    engine: ClassVar[str] = "endpoint"

    def __init__(
        self,
        settings: EmbeddingSettings,
        stamps: Path | None,
        *,
        connect: Callable[[EmbeddingSettings], EndpointConnection] = EndpointConnection,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._connection = connect(settings)
        try:
            self._stamp = _identify(settings, stamps, probe(self._connection))
        except BaseException:
            self._connection.close()
            raise
        self._probed_at = clock()
        width = len(self._stamp.vector)
        self.identity = ModelIdentity(settings.model, self._stamp.revision, width, normalised=True, recipe=RECIPE)
        self.max_tokens = MAX_CHARACTERS  # at most: the server reads what its model can

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """As ``Embedder`` says. A row that is no vector is left as it came, and found by ``vector_checks``."""
        import numpy as np

        if self._clock() - self._probed_at >= PROBE_AGAIN_S:
            self._check_model()
        sent = [text[:MAX_CHARACTERS] for text in texts]
        vectors = np.empty((len(sent), self.identity.width), dtype=np.float32)
        for rows in split_into_batches([len(text) for text in sent], budget=ENDPOINT_CHARACTERS, most=ENDPOINT_TEXTS):
            vectors[rows] = self._ask([sent[row] for row in rows])
        return vectors

    def close(self) -> None:
        self._connection.close()

    def _ask(self, texts: list[str]) -> np.ndarray:
        import numpy as np

        try:
            found = self._connection.ask(texts, width=self.identity.width)
            if len(found) != len(texts):
                raise TextsRefused(f"the endpoint gave {len(found)} vectors for {len(texts)} texts")
            if wrong := next((row for row in found if len(row) != self.identity.width), None):
                raise TextsRefused(f"the endpoint gave a vector of {len(wrong)} numbers, not {self.identity.width}")
        except TextsRefused:
            self._check_model()
            raise
        return _normalise(np.asarray(found, dtype=np.float64))

    def _check_model(self) -> None:
        """Raises ``EmbeddingUnavailable`` unless the endpoint still answers, and with the same model."""
        if not self._stamp.gives(probe(self._connection)):
            raise EmbeddingUnavailable("the model behind the endpoint has changed")
        self._probed_at = self._clock()


def probe(connection: EndpointConnection) -> list[float]:
    """The endpoint's vector of ``PROBE``. Asks once: whoever needs it comes again by himself. Raises
    ``EmbeddingUnavailable``, also for what is no vector."""
    try:
        found = connection.ask([PROBE], attempts=1)
    except TextsRefused as refused:
        raise EmbeddingUnavailable(refused.reason) from None
    if len(found) != 1 or not any(found[0]) or not all(map(math.isfinite, found[0])):
        raise EmbeddingUnavailable("the endpoint's answer to one text is not one vector")
    return found[0]


def probe_endpoint(settings: EmbeddingSettings) -> list[float]:
    """As ``probe``, over a connection of its own. Blocks, and in a thread without an event loop only."""
    connection = EndpointConnection(settings)
    try:
        return probe(connection)
    finally:
        connection.close()


def _identify(settings: EmbeddingSettings, stamps: Path | None, vector: list[float]) -> StampedModel:
    """The model that gave the vector. What nobody remembers is another model each time its vector is another."""
    prefixes = prefixes_of(settings)
    if stamps is None:
        return make_stamp(settings.model, prefixes, vector)
    known = read_stamps(stamps, settings.model, prefixes)
    found = find_or_keep(stamps, settings.model, prefixes, vector)
    if known and found not in known:
        _log.warning("the model behind the embedding endpoint is another than before: every vault is embedded anew")
    return found


def _normalise(vectors: np.ndarray) -> np.ndarray:
    import numpy as np

    with np.errstate(all="ignore"):  # what is no vector stays none
        return cast("np.ndarray", vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
