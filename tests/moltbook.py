"""A network on loopback that behaves as Moltbook's documentation says, kept in memory: one for each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from server.http.options import address
from server.listening_socket import bind

KEY = "moltbook_sk_Zx81hQ-made-up"
"""The key of an account that is there from the beginning."""

Json = dict[str, Any]


@dataclass
class Seen:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    query: dict[str, str]
    body: Json
    raw_path: str  # as it was written


@dataclass
class Network:
    """``agents`` by key. ``reply``: what is answered instead, to whatever is asked."""

    url: str = ""
    agents: dict[str, Json] = field(default_factory=lambda: {KEY: {"name": "heron", "karma": 3}})
    posts: list[Json] = field(default_factory=list)
    comments: list[Json] = field(default_factory=list)
    submolts: list[Json] = field(default_factory=lambda: [{"name": "general", "description": "All", "subscribers": 2}])
    following: set[str] = field(default_factory=set)
    subscribed: set[str] = field(default_factory=set)
    votes: list[tuple[str, str]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    reply: Callable[[Request], Awaitable[Response]] | None = None

    def asked(self, method: str, path: str) -> list[Seen]:
        return [each for each in self.seen if (each.method, each.path) == (method, path)]

    async def serve(self, request: Request) -> Response:
        body = await request.json() if await request.body() else {}
        path = request.url.path.removeprefix("/api/v1")
        headers, raw = dict(request.headers), request.scope["raw_path"].decode()
        self.seen.append(Seen(request.method, path, headers, dict(request.query_params), body, raw))
        if self.reply is not None:
            return await self.reply(request)
        parts = path.strip("/").split("/")
        if (request.method, parts) == ("POST", ["agents", "register"]):
            return self._register(body)
        agent = self.agents.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if agent is None:
            return failed(401, "Invalid API key")
        return self._answer(request, agent, parts, body)

    def _register(self, body: Json) -> Response:
        if any(each["name"] == body["name"] for each in self.agents.values()):
            return failed(409, "Name is taken")
        key = f"moltbook_sk_{body['name']}-{len(self.agents)}-fresh"
        self.agents[key] = {"name": body["name"], "description": body.get("description")}
        claim = {"claim_url": f"{self.url.removesuffix('/api/v1')}/claim/abc", "verification_code": "reef-X4B2"}
        return answered(agent={"api_key": key, **claim}, important="SAVE YOUR API KEY")

    def _answer(self, request: Request, agent: Json, parts: list[str], body: Json) -> Response:  # noqa: C901  as they list them
        query = request.query_params
        most = int(query.get("limit", 25))
        match (request.method, parts):
            case ("GET", ["agents", "me"]):
                return answered(agent=agent)
            case ("PATCH", ["agents", "me"]):
                agent.update({name: each for name, each in body.items() if each is not None})
                return answered(agent=agent)
            case ("GET", ["agents", "profile"]):
                return next((answered(agent=each) for each in self.agents.values() if each["name"] == query["name"]),
                            failed(404, "Agent not found"))  # fmt: skip
            case (method, ["agents", name, "follow"]):
                (self.following.add if method == "POST" else self.following.discard)(name)
                return answered()
            case ("POST", ["posts"]):
                post = {"id": f"p{len(self.posts) + 1}", "author": {"name": agent["name"]}, "upvotes": 0,
                        "created_at": "2026-01-05T10:00:00Z", **body, "submolt": {"name": body["submolt"]}}  # fmt: skip
                self.posts.append(post)
                return answered(post=post)
            case ("GET", ["posts"]):
                wanted = [each for each in self.posts if query.get("submolt") in (None, each["submolt"]["name"])]
                return answered(posts=wanted[:most])
            case ("GET", ["feed"]):
                wanted = [each for each in self.posts if each["author"]["name"] in self.following]
                return answered(posts=wanted[:most])
            case ("GET", ["search"]):
                return answered(results=[each for each in self.posts if query["q"] in each["title"]][:most])
            case (method, ["posts", identity]):
                found = next((each for each in self.posts if each["id"] == identity), None)
                if found is None:
                    return failed(404, "Post not found")
                if method == "DELETE":
                    self.posts.remove(found)
                    return answered()
                return answered(post=found)
            case ("POST", ["posts", identity, "comments"]):
                comment = {
                    "id": f"c{len(self.comments) + 1}",
                    "author": {"name": agent["name"]},
                    "post": identity,
                    **body,
                }
                self.comments.append(comment)
                return answered(comment=comment)
            case ("GET", ["posts", identity, "comments"]):
                return answered(comments=[each for each in self.comments if each["post"] == identity])
            case ("POST", [_, identity, "upvote" | "downvote" as vote]):
                self.votes.append((vote, identity))
                return answered(message="Upvoted! 🦞")
            case ("GET", ["submolts"]):
                return answered(submolts=self.submolts)
            case ("POST", ["submolts"]):
                self.submolts.append(body)
                return answered(submolt=body)
            case ("GET", ["submolts", name]):
                return next((answered(submolt=each) for each in self.submolts if each["name"] == name),
                            failed(404, "Submolt not found"))  # fmt: skip
            case (method, ["submolts", name, "subscribe"]):
                (self.subscribed.add if method == "POST" else self.subscribed.discard)(name)
                return answered()
        return failed(404, "No such endpoint")


def answered(**fields: Any) -> Response:
    return JSONResponse({"success": True, **fields})


def failed(status: int, error: str, **more: Any) -> Response:
    return JSONResponse({"success": False, "error": error, "hint": "See skill.md", **more}, status)


def always(response: Callable[[], Response]) -> Callable[[Request], Awaitable[Response]]:
    """A reply to whatever is asked."""

    async def reply(_: Request) -> Response:
        return response()

    return reply


@asynccontextmanager
async def moltbook() -> AsyncIterator[Network]:
    """A running network; ``url`` is its API."""
    network = Network()
    methods = ["GET", "POST", "PATCH", "DELETE"]
    app = Starlette(routes=[Route("/{path:path}", network.serve, methods=methods)])
    listener = bind("127.0.0.1", 0)
    host, port = address(listener)
    network.url = f"http://{host}:{port}/api/v1"
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            assert not serving.done(), serving.exception()
            await asyncio.sleep(0.005)
        yield network
    finally:
        server.should_exit = True
        await serving
        listener.close()
