"""A provider in the shape of Keycloak, on a real socket of this machine: discovery, keys, codes with PKCE, ID tokens.
Each test can have it lie."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from auth.settings import ProviderSettings
from tests.work import PATIENCE_S

REALM = "/realms/team"
CERTS = f"{REALM}/protocol/openid-connect/certs"
TOKEN = f"{REALM}/protocol/openid-connect/token"
DISCOVERY = f"{REALM}/.well-known/openid-configuration"
SECRET = "a secret: 50 % of it"
ANN: dict[str, Any] = {
    "sub": "5f2a6f3e-8c1b-4d52-9a37-0f6f0d2f7a11",
    "preferred_username": "ann",
    "email": "ann@example.org",
    "email_verified": True,
    "groups": ["research", "everybody"],
}


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class OutsideIssuer:
    """``claims``: who signs in. ``bend`` changes an ID token's claims before it is signed; ``sign`` signs otherwise;
    ``document`` what discovery says besides; ``answers`` what is sent at a path instead."""

    claims: dict[str, Any] = field(default_factory=lambda: dict(ANN))
    bend: dict[str, Any] = field(default_factory=dict)
    sign: Callable[[dict[str, Any]], str] | None = None
    document: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)
    key: rsa.RSAPrivateKey = field(default_factory=_key)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def issuer(self) -> str:
        return f"{self.origin}{REALM}"

    def settings(self, **more: Any) -> ProviderSettings:
        plain = {"name": "keycloak", "issuer": self.issuer, "client_id": "strongroom", "allow_loopback_http": True}
        return ProviderSettings(**{**plain, "timeout_s": PATIENCE_S / 2, **more})

    def visit(self, address: str) -> dict[str, str]:
        """What the browser brings back of it, with whoever ``claims`` says signed in there."""
        assert address.startswith(f"{self.origin}{REALM}/protocol/openid-connect/auth?")
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"], "iss": self.issuer, "session_state": "x"}

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        sent = request.rfile.read(int(request.headers.get("content-length", 0))).decode()
        known = {DISCOVERY: self._discovery, CERTS: self._certs}
        if request.path in self.answers:
            self.answers[request.path](request)
        elif request.path in known:
            reply(request, 200, known[request.path]())
        elif request.path == TOKEN:
            form = {name: values[0] for name, values in parse_qs(sent).items()}
            reply(request, *self._token(form, request.headers.get("authorization")))
        else:
            reply(request, 404, {})

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.origin}{REALM}/protocol/openid-connect/auth",
            "token_endpoint": f"{self.origin}{TOKEN}",
            "jwks_uri": f"{self.origin}{CERTS}",
            "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
            **self.document,
        }

    def _certs(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def _token(self, form: dict[str, str], authorization: str | None) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if asked is None or base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        if form.get("redirect_uri") != asked["redirect_uri"] or form.get("client_id") != asked["client_id"]:
            return 400, {"error": "invalid_grant"}
        if authorization is not None:
            name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
            form["client_secret"] = unquote_plus(secret)
            assert unquote_plus(name) == asked["client_id"]
        if form.get("client_secret", SECRET) != SECRET:
            return 401, {"error": "invalid_client"}
        return 200, {"access_token": "opaque", "token_type": "Bearer", "id_token": self._id_token(asked)}

    def _id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": asked["client_id"], "azp": asked["client_id"], "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], "typ": "ID", **self.claims, **self.bend,
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return self.sign(claims)
        return jwt.encode(claims, self.key, "RS256", headers={"kid": "one"})

    def public_pem(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def reply(request: BaseHTTPRequestHandler, status: int, body: object, **headers: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request.send_response(status)
    for name, value in {"content_type": "application/json", **headers}.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("content-length", str(len(data)))
    request.end_headers()
    with contextlib.suppress(ConnectionError):  # the client had enough, which is the point
        request.wfile.write(data)
