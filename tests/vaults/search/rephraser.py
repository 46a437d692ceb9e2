"""A server on loopback that rephrases queries, or misbehaves as a test says."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Rephraser:
    """``answer`` writes the response; ``asked`` holds the bodies that came."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.document: object = {"variants": ["one way", "another way"]}
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.serve
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/variants"

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        self.reply(request, 200, json.dumps(self.document).encode())

    @staticmethod
    def reply(request: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        with contextlib.suppress(ConnectionError):  # the client had enough, which is the point
            request.wfile.write(body)

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
