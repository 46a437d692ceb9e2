"""Writes ``vaults/search/cl100k.zlib``, the vocabulary, out of another library that holds it:
``python -m tests.vaults.search.cl100k``."""

from __future__ import annotations

import zlib
from pathlib import Path

import bpe_openai

from vaults.search import tokenizer


def packed() -> bytes:
    encoding = bpe_openai.get_encoding("cl100k_base")
    tokens = [encoding.decode_single_token_bytes(number) for number in range(tokenizer.SIZE)]
    return zlib.compress(bytes(map(len, tokens)) + b"".join(tokens), 9)


if __name__ == "__main__":
    (Path(tokenizer.__file__).with_name("cl100k.zlib")).write_bytes(packed())
