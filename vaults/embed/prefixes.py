"""What models want to see before a text, which differs for questions and what answers them. Pure.

Each line is from the model's own card. A server embeds what it is given: none of the three protocols adds these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from vaults.settings import EmbeddingSettings


@dataclass(frozen=True, slots=True)
class Prefixes:
    """``query``: before what is searched for; ``document``: before what is stored."""

    query: str = ""
    document: str = ""


NO_PREFIXES = Prefixes()

_PASSAGES = "Represent this sentence for searching relevant passages: "
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# By the model's name without owner and tag, in lower case; the first that is found in it counts.
PREFIXES: tuple[tuple[str, Prefixes], ...] = (
    (r"nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    (r"e5-.*instruct", Prefixes(f"{_TASK} ")),
    (r"e5-(?:small|base|large)", Prefixes("query: ", "passage: ")),
    (r"bge-(?:small|base|large)-zh", Prefixes("为这个句子生成表示以用于检索相关文章:")),
    (r"bge-(?:small|base|large)", Prefixes(_PASSAGES)),
    (r"bge-m3", NO_PREFIXES),
    (r"qwen3-embedding", Prefixes(_TASK)),
    (r"embedding-?gemma", Prefixes("task: search result | query: ", "title: none | text: ")),
    (r"mxbai-embed", Prefixes(_PASSAGES)),
    (r"snowflake-arctic-embed(?:2|-[lm]-v2)", Prefixes("query: ")),
    (r"snowflake-arctic-embed", Prefixes(_PASSAGES)),
)
"""Prefixes by a pattern of names. Changing a line has every vault whose model it fits embedded anew."""


def prefixes_of(settings: EmbeddingSettings) -> Prefixes:
    """What to put before texts: as set, else as the model was trained. Models that are loaded here get none."""
    if settings.engine != "endpoint":
        return NO_PREFIXES
    usual = usual_prefixes(settings.model)
    query, document = settings.query_prefix, settings.document_prefix
    return Prefixes(usual.query if query is None else query, usual.document if document is None else document)


def usual_prefixes(model: str) -> Prefixes:
    """Those of the table; none for a model that is not in it."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return next((found for pattern, found in PREFIXES if re.search(pattern, name)), NO_PREFIXES)
