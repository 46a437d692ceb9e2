"""Fetching an issuer's keys from a real server on loopback that misbehaves in every way."""

import asyncio
import contextlib
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from auth.errors import TokenInvalid
from auth.jwks import FRESH_S, RETRY_S, STALE_S, IssuerKeys, usable_keys
from auth.settings import IssuerSettings

ALGORITHMS = ("RS256", "ES256", "EdDSA")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def okp(kid: str, **more: object) -> dict[str, object]:
    public = ed25519.Ed25519PrivateKey.generate().public_key()
    return {**json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(public)), "kid": kid, **more}


def rsa_jwk(kid: str, bits: int = 2048, **more: object) -> dict[str, object]:
    public = rsa.generate_private_key(65537, bits).public_key()
    return {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public)), "kid": kid, **more}


class Issuer:
    """``answer`` writes the response; ``asked`` counts requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.document: object = {"keys": [okp("a")]}
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.serve
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/keys"

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


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.close()


def keys_of(issuer: Issuer, clock: Clock | None = None, **more: object) -> IssuerKeys:
    settings = IssuerSettings(issuer="https://id.example", jwks_url=issuer.url, allow_loopback_http=True, **more)
    return IssuerKeys(settings, clock=clock or Clock())


async def refused(keys: IssuerKeys, kid: str = "a") -> bool:
    try:
        await keys.find(kid)
    except TokenInvalid as invalid:
        return invalid.reason == "keys_unavailable"
    return False


async def test_keys_are_fetched_once_and_kept(issuer: Issuer) -> None:
    keys = keys_of(issuer)
    found = await asyncio.gather(*(keys.find("a") for _ in range(20)))
    assert all(key is not None and key.algorithms == ("EdDSA",) for key in found)
    assert issuer.asked == ["/keys"]
    await keys.close()


async def test_an_unknown_kid_asks_again_at_most_once_in_thirty_seconds(issuer: Issuer) -> None:
    clock = Clock()
    keys = keys_of(issuer, clock)
    assert await keys.find("a") is not None
    for kid in ("../../etc/passwd", "' OR 1=1", "https://evil.example/k", "b"):
        assert await keys.find(kid) is None
    assert len(issuer.asked) == 1
    clock.now += RETRY_S
    for _ in range(5):
        assert await keys.find("b") is None
    assert len(issuer.asked) == 2
    await keys.close()


async def test_a_rotated_key_is_found_and_the_withdrawn_one_forgotten(issuer: Issuer) -> None:
    clock = Clock()
    keys = keys_of(issuer, clock)
    assert await keys.find("a") is not None
    issuer.document = {"keys": [okp("b")]}
    clock.now += RETRY_S
    assert await keys.find("b") is not None
    assert await keys.find("a") is None
    await keys.close()


async def test_a_withdrawn_key_is_forgotten_when_the_keys_are_no_longer_fresh(issuer: Issuer) -> None:
    clock = Clock()
    keys = keys_of(issuer, clock)
    assert await keys.find("a") is not None
    issuer.document = {"keys": []}
    clock.now += FRESH_S
    assert await keys.find("a") is None
    await keys.close()


async def test_while_the_issuer_is_down_old_keys_serve_for_a_bounded_time(issuer: Issuer) -> None:
    clock = Clock()
    keys = keys_of(issuer, clock)
    assert await keys.find("a") is not None
    issuer.answer = lambda request: issuer.reply(request, 503, b"")
    clock.now += STALE_S
    assert await keys.find("a") is not None
    assert keys.failure is not None
    clock.now += 1
    assert await refused(keys)
    await keys.close()


async def test_without_any_keys_nobody_is_let_in_and_the_issuer_is_found_when_it_comes_up(issuer: Issuer) -> None:
    clock = Clock()
    keys = keys_of(issuer, clock)
    issuer.answer = lambda request: issuer.reply(request, 500, b"")
    assert await refused(keys)
    issuer.answer = issuer.serve
    assert await refused(keys)  # asked a moment ago
    clock.now += RETRY_S
    assert await keys.find("a") is not None
    await keys.close()


async def test_an_issuer_that_does_not_listen_is_down() -> None:
    gone = Issuer()
    gone.close()
    keys = keys_of(gone)
    assert await refused(keys)
    await keys.close()


async def test_an_issuer_that_hangs_costs_the_configured_time(issuer: Issuer) -> None:
    issuer.answer = lambda request: issuer.released.wait() and None
    keys = keys_of(issuer, jwks_timeout_s=0.1)
    assert await refused(keys)
    issuer.released.set()
    await keys.close()


async def test_an_issuer_that_drips_does_not_get_more_time(issuer: Issuer) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("content-length", "100000")
        request.end_headers()
        while not issuer.released.wait(0.02):
            request.wfile.write(b" ")

    issuer.answer = drip
    keys = keys_of(issuer, jwks_timeout_s=0.2)
    assert await refused(keys)
    issuer.released.set()
    await keys.close()


@pytest.mark.parametrize("status", [201, 301, 302, 303, 307, 308, 404, 500])
async def test_a_redirect_is_not_followed_and_keys_beside_another_status_do_not_count(
    issuer: Issuer, status: int
) -> None:
    elsewhere = Issuer()
    document = json.dumps(issuer.document).encode()
    issuer.answer = lambda request: issuer.reply(request, status, document, location=elsewhere.url)
    keys = keys_of(issuer)
    assert await refused(keys)
    assert elsewhere.asked == []
    elsewhere.close()
    await keys.close()


def _big(issuer: Issuer, request: BaseHTTPRequestHandler) -> None:
    issuer.reply(request, 200, json.dumps({"keys": [okp("a")], "x": "x" * 10_000_000}).encode())


def _endless(issuer: Issuer, request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    with contextlib.suppress(ConnectionError):
        while not issuer.released.is_set():
            request.wfile.write(b" " * 65536)


def _bomb(issuer: Issuer, request: BaseHTTPRequestHandler) -> None:
    body = gzip.compress(json.dumps({"keys": [okp("a")], "x": "x" * 10_000_000}).encode())
    issuer.reply(request, 200, body, content_encoding="gzip")


def _text(body: bytes) -> Callable[[Issuer, BaseHTTPRequestHandler], None]:
    return lambda issuer, request: issuer.reply(request, 200, body)


@pytest.mark.parametrize(
    "answer", [_big, _endless, _bomb, _text(b""), _text(b"<html>"), _text(b"[" * 100_000), _text(b"\xff\xfe{}")]
)
async def test_an_answer_that_is_no_key_document_of_sane_size_is_no_answer(issuer: Issuer, answer) -> None:
    issuer.answer = lambda request: answer(issuer, request)
    keys = keys_of(issuer)
    assert await refused(keys)
    await keys.close()


@pytest.mark.parametrize("document", [{}, [], {"keys": {}}, {"keys": "a"}, {"keys": [1, None, "a", []]}, 7, None])
async def test_a_document_without_keys_lets_nobody_in(issuer: Issuer, document: object) -> None:
    issuer.document = document
    keys = keys_of(issuer)
    assert await keys.find("a") is None
    await keys.close()


async def test_a_caller_who_goes_away_does_not_stop_the_fetch_for_the_others(issuer: Issuer) -> None:
    asked = threading.Event()

    def slow(request: BaseHTTPRequestHandler) -> None:
        asked.set()
        issuer.released.wait()
        issuer.serve(request)

    issuer.answer = slow
    keys = keys_of(issuer)
    first, second = asyncio.create_task(keys.find("a")), asyncio.create_task(keys.find("a"))
    await asyncio.to_thread(asked.wait, 5)
    first.cancel()
    issuer.released.set()
    assert await second is not None
    assert len(issuer.asked) == 1
    await keys.close()


async def test_closing_stops_a_fetch_under_way(issuer: Issuer) -> None:
    asked = threading.Event()
    issuer.answer = lambda request: (asked.set(), issuer.released.wait(), None)[2]
    keys = keys_of(issuer)
    waiting = asyncio.create_task(keys.find("a"))
    await asyncio.to_thread(asked.wait, 5)
    await keys.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


def kept(*entries: dict[str, object], algorithms: tuple[str, ...] = ALGORITHMS) -> dict[str, tuple[str, ...]]:
    return {kid: key.algorithms for kid, key in usable_keys({"keys": list(entries)}, algorithms).items()}


def test_algorithms_belong_to_the_key_and_the_settings() -> None:
    curve = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()).public_key()))
    assert kept(rsa_jwk("r"), okp("o"), {**curve, "kid": "e"}) == {"r": ("RS256",), "o": ("EdDSA",), "e": ("ES256",)}
    assert kept(rsa_jwk("r"), algorithms=("RS256", "PS256")) == {"r": ("RS256", "PS256")}
    assert kept(rsa_jwk("r", alg="PS256"), algorithms=("RS256", "PS256")) == {"r": ("PS256",)}


def test_keys_that_must_not_verify_are_left_out() -> None:
    curve = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key()))
    private = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate()))
    assert (
        kept(
            {"kty": "oct", "k": "c2VjcmV0", "kid": "symmetric"},
            {"kty": "oct", "k": "c2VjcmV0", "kid": "confused", "alg": "RS256", "crv": "Ed25519"},
            rsa_jwk("weak", 1024),
            rsa_jwk("encryption", use="enc"),
            rsa_jwk("signing", key_ops=["sign"]),
            rsa_jwk("other", alg="RS512"),
            rsa_jwk("none", alg="none"),
            {**curve, "kid": "unlisted"},
            {**private, "kid": "private"},
            {"kty": "RSA", "n": "!!", "e": "AQAB", "kid": "broken"},
            {"kty": "RSA", "kid": "empty"},
            {"kty": ["RSA"], "kid": "list"},
            {**okp("x"), "kid": 7},
            okp("odd-operations", key_ops=7),
            okp("odd-algorithm", alg=["EdDSA"]),
            {key: value for key, value in okp("x").items() if key != "kid"},
        )
        == {}
    )


def test_a_kid_that_occurs_twice_means_neither_key() -> None:
    assert kept(okp("a"), okp("a"), okp("b")) == {"b": ("EdDSA",)}
    assert kept(okp("a"), {"kty": "oct", "k": "c2VjcmV0", "kid": "a"}) == {}
