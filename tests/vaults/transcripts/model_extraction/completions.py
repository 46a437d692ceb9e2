"""An endpoint on loopback that answers as OpenAI's does, or as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.vaults.search.rephraser import Rephraser

Answer = Callable[[BaseHTTPRequestHandler], None]


class Completions(Rephraser):
    """``text``: what the model says; ``tokens``: what it counts; ``heads`` holds path and headers of what came."""

    def __init__(self) -> None:
        super().__init__()
        self.text = json.dumps({"memories": []})
        self.tokens: object = 50
        self.heads: list[tuple[str, dict[str, str]]] = []
        self.script: list[Answer] = []
        self.answer = self.serve

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    @property
    def prompts(self) -> list[str]:
        """What the model was asked, in order."""
        return [body["messages"][0]["content"] for body in self.asked]

    def say(self, *memories: dict[str, Any]) -> None:
        self.text = json.dumps({"memories": memories})

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        """The next of the script, or what the model says."""
        self.heads.append((request.path, dict(request.headers.items())))
        if self.script:
            self.script.pop(0)(request)
            return
        message = {"role": "assistant", "content": self.text}
        body = {"choices": [{"index": 0, "message": message}], "usage": {"total_tokens": self.tokens}}
        self.reply(request, 200, json.dumps(body).encode())


def failing(status: int, **headers: str) -> Answer:
    """An answer without a completion."""
    return lambda request: Completions.reply(request, status, b"{}", **headers)


def memory(**fields: Any) -> dict[str, Any]:
    """A memory as a model gives it."""
    return {
        "kind": "codebase", "title": "Tides live in SQLite", "content": "Tide tables are kept in SQLite.", "turns": [0],
        "confidence": 0.6, "thinking": False, "replaces": [], **fields,
    }  # fmt: skip
