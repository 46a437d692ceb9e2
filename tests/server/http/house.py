"""A server of two vaults behind the gate, called as raw ASGI, with a mint for outside tokens."""

import dataclasses
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ed25519

from auth.access_cache import AccessCache
from auth.authenticate import Authenticator
from auth.external_issuer import ExternalAuthenticator
from auth.grants import set_grant
from auth.keys import KeyRing, open_key_ring
from auth.local_issuer import LocalAuthenticator
from auth.principal import LOCAL
from auth.roles import Role
from auth.settings import IssuerSettings
from auth.token_claims import VerifyKey
from auth.tokens import TokenRequest, create_token
from ops.refusals import RefusalLine
from server.http.gate import Admission, Gate, GatePolicy
from vaults.db.connection import Database
from vaults.db.migration import migrate
from vaults.settings import StorageSettings

URL = "https://mem.example"
IDP = "https://id.example"
IDP_KEY = ed25519.Ed25519PrivateKey.generate()
TOOLS = {"recall": Role.READER, "remember": Role.WRITER, "reindex": Role.ADMIN}
METADATA = f"{URL}/.well-known/oauth-protected-resource"
MODERN = "2026-07-28"
LIMIT = 1000


class HeldKeys:
    async def find(self, kid: str) -> VerifyKey | None:
        return VerifyKey(IDP_KEY.public_key(), ("EdDSA",)) if kid == "k" else None


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return json.loads(self.body)["error"]["code"]


class House:
    """Vaults v1, v2 and the archived v3, with a gate before an application that records what reaches it."""

    def __init__(self, db: Database, ring: KeyRing, clock: Callable[[], float]) -> None:
        self.db, self.ring = db, ring
        self.access_cache = AccessCache(db, clock=clock)
        self.vaults = {"v1", "v2"}
        self.now = 0.0
        """For whoever is given a clock of its own."""
        self.reached: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.lines: list[RefusalLine] = []
        self.denied: list[tuple[int | None, str]] = []
        issuer = IssuerSettings(issuer=IDP, jwks_url=f"{IDP}/keys", audiences=(URL,))
        outside = ExternalAuthenticator(issuer, HeldKeys(), URL, 30)  # type: ignore[arg-type]
        self.policy = GatePolicy(
            authenticator=Authenticator([LocalAuthenticator(ring, "abc", 30), outside], self.access_cache),
            access_cache=self.access_cache,
            vaults=lambda: self.vaults,
            look_again=self._look_again,
            required_role=TOOLS.get,
            public_url=URL,
            allowed_hosts=("mem.example", "localhost:*"),
            allowed_origins=("https://app.example",),
            max_body=LIMIT,
            on_refusal=self._note,
        )

    async def _look_again(self) -> bool:
        await self.access_cache.refresh()
        return True

    def _note(self, line: RefusalLine) -> None:
        self.lines.append(line)
        self.denied.append((line.status, line.reason))

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached.append(scope)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def grant(self, subject: str, vault: str, role: Role, issuer: str = LOCAL) -> None:
        await self.access_cache.write(lambda w: set_grant(w, subject, issuer, vault, role))

    async def token(self, subject: str = "alice", *vaults: str, role: Role = Role.WRITER) -> Any:
        request = TokenRequest(subject, vaults or ("v1",), role, 600)
        return await self.access_cache.write(lambda w: create_token(w, self.ring, "abc", request))

    async def call(
        self, path: str = "/v/v1/mcp", token: str | None = None, body: bytes | list[bytes] = b"{}", **more: Any
    ) -> Answer:
        headers = [("host", "mem.example"), *more.pop("headers", [])]
        if token is not None:
            headers.append(("authorization", f"Bearer {token}"))
        return await self.send(path, headers, body, **more)

    async def send(self, path: str, headers: list[tuple[str, str]], body: bytes | list[bytes], **more: Any) -> Answer:
        chunks = [body] if isinstance(body, bytes) else body
        waiting = [
            {"type": "http.request", "body": chunk, "more_body": place < len(chunks) - 1}
            for place, chunk in enumerate(chunks)
        ]
        sent: list[Any] = []

        async def receive() -> Any:
            return waiting.pop(0) if waiting else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": raw, **more}
        await Gate(self.app, self.policy)(scope, receive, send)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))

    @property
    def admission(self) -> Admission:
        return self.reached[-1]["state"]["admission"]


@asynccontextmanager
async def open_house(folder: Path, clock: Callable[[], float] = time.monotonic) -> AsyncIterator[House]:
    db = Database(folder / "control.db", StorageSettings())
    await migrate(db, "control")
    made = House(db, open_key_ring(folder / "keys"), clock)
    await made.access_cache.refresh()
    yield made
    await db.close()


def outside(**change: Any) -> str:
    now = int(time.time())
    claims = {"iss": IDP, "aud": URL, "sub": "carol", "iat": now, "exp": now + 600, "scope": "vault:read", **change}
    return jwt.encode(claims, IDP_KEY, "EdDSA", headers={"kid": "k"})


def tool_call(name: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}).encode()
