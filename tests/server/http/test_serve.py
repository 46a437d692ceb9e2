"""The server as a process of its own: sockets, signals, TLS and workers are real.

Covers server.http.options.
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from server.http.serve import ServeOptions, address, bind
from tests.server.http.certified import write_pair
from tests.work import PROGRAM_PATIENCE_S
from vaults.errors import InvalidArgument

ROOT = Path(__file__).parents[3]
TOY = Path(__file__).with_name("toy_server.py")


class Toy:
    """A running toy server."""

    def __init__(self, config):
        self.process = subprocess.Popen(
            [sys.executable, str(TOY), json.dumps(config)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        ports = json.loads(self.process.stdout.readline())
        self.port, self.metrics = ports["port"], ports["metrics"]
        self.connections = []

    def get(self, path, *, headers=None, scheme="http", context=None, port=None):
        asked = urllib.request.Request(f"{scheme}://127.0.0.1:{port or self.port}{path}", headers=headers or {})
        with urllib.request.urlopen(asked, timeout=PROGRAM_PATIENCE_S, context=context) as answer:
            return answer.read().decode()

    def json(self, path, **how):
        return json.loads(self.get(path, **how))

    def connect(self, text=b""):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PROGRAM_PATIENCE_S)
        self.connections.append(connection)
        connection.sendall(text)
        return connection

    def figure(self, name):
        """None beside the start or the end of a process, where a scrape may be dropped."""
        try:
            lines = self.get("/metrics", port=self.metrics).splitlines()
        except ConnectionError:
            return None
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    def signal(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)

    def close(self):
        for connection in self.connections:
            connection.close()
        self.process.kill()
        self.process.communicate()

    def ended(self):
        """Exit code and log lines."""
        _, stderr = self.process.communicate(timeout=PROGRAM_PATIENCE_S)
        return self.process.returncode, [json.loads(line) for line in stderr.splitlines()]

    def wait_for(self, event):
        """Read the log up to a line with this event."""
        for line in self.process.stderr:
            if json.loads(line)["event"] == event:
                return
        raise AssertionError(event)


@pytest.fixture
def start():
    with contextlib.ExitStack() as stack:

        def run(**config):
            toy = Toy(config)
            stack.callback(toy.close)
            return toy

        yield run


@pytest.fixture(scope="module")
def plain():
    """One server with default options, for tests that only ask."""
    toy = Toy({})
    yield toy
    toy.close()


def in_flight(toy, path):
    """A request sent, and most likely in the application by now; returns its connection."""
    connection = toy.connect(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    toy.json("/echo")
    return connection


def rest(connection):
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def read_to(connection, text):
    seen = b""
    while text not in seen:
        more = connection.recv(65536)
        assert more, seen
        seen += more


def until(check):
    deadline = time.monotonic() + PROGRAM_PATIENCE_S
    while not check():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


@pytest.mark.parametrize(("sig", "workers"), [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_a_signal_answers_calls_in_flight_closes_streams_and_exits_zero(start, sig, workers):
    toy = start(options={"workers": workers}, ops={"shutdown_grace_s": 2 * PROGRAM_PATIENCE_S})  # none of it is used up
    stream = in_flight(toy, "/stream")
    read_to(stream, b"open")
    waiting = in_flight(toy, "/slow")
    read_to(waiting, b"begun")
    toy.signal(sig)
    assert "answered" in rest(waiting)
    assert "closed" in rest(stream)
    code, log = toy.ended()
    assert code == 0
    assert log[-1]["event"] == "stopped"
    with pytest.raises(ConnectionRefusedError):
        toy.connect()


def test_a_second_signal_hurries(start):
    toy = start(options={"workers": 2}, ops={"shutdown_grace_s": 2 * PROGRAM_PATIENCE_S})
    stuck = in_flight(toy, "/never")
    read_to(stuck, b"begun")
    in_flight(toy, "/flood")  # and nobody reads the answer
    toy.signal()
    toy.wait_for("draining")
    toy.signal()
    rest(stuck)
    assert toy.ended()[0] == 0


def test_what_hangs_while_closing_is_cut_off_in_time(start):
    toy = start(fail="closing", options={"workers": 2}, ops={"shutdown_grace_s": 1})
    toy.json("/echo")
    toy.signal()
    code, log = toy.ended()
    assert code == 1
    assert "drain_cut_off" in [line["event"] for line in log]


def test_a_call_that_never_ends_is_cancelled_within_the_grace_period(start):
    toy = start(
        ops={"shutdown_grace_s": PROGRAM_PATIENCE_S}, closing_share=0.99
    )  # a second for calls, the rest to close in
    stuck = in_flight(toy, "/never")
    read_to(stuck, b"begun")
    toy.signal()
    rest(stuck)
    assert toy.ended()[0] == 0


@pytest.mark.parametrize(
    ("fail", "workers", "event", "reason"),
    [
        ("lifespan", 1, "lifespan_failed", "no room to start in"),
        ("factory", 2, "start_failed", "toy does not fit"),
    ],
)
def test_a_failed_start_says_why_and_exits_three(start, fail, workers, event, reason):
    code, log = start(fail=fail, options={"workers": workers}).ended()
    assert code == 3
    assert reason in next(line for line in log if line["event"] == event)["reason"]


def test_metrics_of_two_workers_add_up_and_survive_a_death(start):
    toy = start(options={"workers": 2})
    until(lambda: toy.figure("strongroom_open_vaults ") == 2)
    pids = []
    until(lambda: pids.append(toy.json("/echo")["pid"]) or len(set(pids)) == 2)
    sent = len(pids)
    assert toy.figure("strongroom_calls_total{") == sent
    assert toy.figure("process_resident_memory_bytes ") > 0
    toy.connect(b"GET /die HTTP/1.1\r\nHost: x\r\n\r\n")
    until(lambda: toy.figure("strongroom_worker_restarts_total ") == 1)
    until(lambda: toy.figure("strongroom_open_vaults ") == 2)
    toy.json("/echo")
    assert toy.figure("strongroom_calls_total{") == sent + 1
    toy.signal()
    assert toy.ended()[0] == 0


def test_workers_end_when_their_supervisor_is_killed(start):
    toy = start(options={"workers": 2})
    pid = toy.json("/echo")["pid"]
    toy.process.kill()
    toy.process.wait(PROGRAM_PATIENCE_S)

    def has_ended():
        try:
            return not Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:  # it is gone, perhaps just now
            return True

    until(has_ended)


def test_metrics_are_not_on_the_public_port(plain):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        plain.get("/metrics")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        plain.get("/echo", port=plain.metrics)


FORGED = {"X-Forwarded-For": "7.7.7.7", "X-Forwarded-Proto": "https"}


def test_proxy_headers_from_anybody_are_ignored(plain):
    said = plain.json("/echo", headers=FORGED)
    assert (said["client"], said["scheme"]) == ("127.0.0.1", "http")


def test_proxy_headers_of_a_configured_peer_count(start):
    said = start(options={"trusted_proxies": ["127.0.0.0/8"]}).json("/echo", headers=FORGED)
    assert (said["client"], said["scheme"]) == ("7.7.7.7", "https")


def test_a_configured_peer_elsewhere_makes_nobody_else_trusted(start):
    toy = start(options={"trusted_proxies": ["10.1.2.3"]})
    assert toy.json("/echo", headers={"X-Forwarded-For": "7.7.7.7"})["client"] == "127.0.0.1"


def test_no_server_header(plain):
    assert (
        b"server:"
        not in rest(plain.connect(b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).lower().encode()
    )


def test_a_head_that_does_not_arrive_is_cut_and_others_are_served(start):
    toy = start(options={"head_timeout_s": 1.0})
    silent, partial = toy.connect(), toy.connect(b"GET /echo HTTP/1.1\r\nHo")
    kept = toy.connect(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
    read_to(kept, b'"bytes":0}')
    kept.sendall(b"GET /ec")
    toy.json("/echo")
    assert [connection.recv(1) for connection in (silent, partial)] == [b"", b""]
    with contextlib.suppress(ConnectionResetError):
        assert b"GET" not in rest(kept).encode()


HALF = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"


def test_a_body_that_does_not_arrive_is_408(start):
    toy = start(options={"body_timeout_s": 0.5})
    late = toy.connect(HALF)
    toy.json("/echo")
    assert rest(late).startswith("HTTP/1.1 408")
    assert toy.json("/echo")


def test_a_body_in_pieces_is_read(plain):
    whole = plain.connect(HALF)
    plain.json("/echo")
    whole.sendall(b"cd")
    read_to(whole, b'"bytes":4')


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "strongroom test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    for path, private in (("key.pem", key), ("other.pem", other)):
        plain = serialization.NoEncryption()
        text = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        (folder / path).write_bytes(text)
    return folder


def test_tls_from_files(start, certificate):
    files = {"tls_cert": str(certificate / "cert.pem"), "tls_key": str(certificate / "key.pem")}
    toy = start(options=files)
    trusting = ssl.create_default_context(cafile=certificate / "cert.pem")
    assert toy.json("/echo", scheme="https", context=trusting)["scheme"] == "https"
    plain = toy.connect(b"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")
    with contextlib.suppress(ConnectionResetError):
        assert "200 OK" not in rest(plain)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_hang_up_signal_has_new_connections_see_the_new_certificate(start, tmp_path, workers):
    cert, key = write_pair(tmp_path, addresses=["127.0.0.1"])
    toy = start(options={"tls_cert": str(cert), "tls_key": str(key), "workers": workers})
    before, pids = ssl.create_default_context(cafile=cert), set()
    until(lambda: pids.add(toy.json("/echo", scheme="https", context=before)["pid"]) or len(pids) == workers)
    old = cert.read_bytes()
    write_pair(tmp_path, addresses=["127.0.0.1"])
    new, whole = ssl.create_default_context(cafile=cert), cert.read_bytes()
    cert.write_bytes(old)  # half of a pair: what was read before goes on to hold
    toy.signal(signal.SIGHUP)
    for _ in range(workers):
        toy.wait_for("reload_failed")
    assert toy.json("/echo", scheme="https", context=before)
    cert.write_bytes(whole)
    toy.signal(signal.SIGHUP)
    for _ in range(workers):
        toy.wait_for("certificate_reloaded")
    for _ in range(4):
        assert toy.json("/echo", scheme="https", context=new)["scheme"] == "https"
    toy.signal()
    assert toy.ended()[0] == 0


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tls_cert": "cert.pem"}, "tls_key"),
        ({"tls_cert": "cert.pem", "tls_key": "other.pem"}, "tls_cert"),
        ({"tls_cert": "absent.pem", "tls_key": "key.pem"}, "tls_cert"),
        ({"trusted_proxies": ("*",)}, "trusted_proxies"),
        ({"trusted_proxies": ("proxy.example",)}, "trusted_proxies"),
        ({"workers": 0}, "workers"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_the_start(certificate, options, field):
    for name in ("tls_cert", "tls_key"):
        if name in options:
            options = {**options, name: str(certificate / options[name])}
    with pytest.raises(InvalidArgument) as refused:
        ServeOptions(**options).check()
    assert refused.value.details["field"] == field


def test_a_taken_port_is_one_clear_error():
    with bind("127.0.0.1", 0) as first:
        host, port = address(first)
        assert host == "127.0.0.1"
        with pytest.raises(InvalidArgument, match=f"port {port} on 127.0.0.1: Address already in use"):
            bind("127.0.0.1", port)


def test_an_address_that_is_not_ours_is_one_clear_error():
    with pytest.raises(InvalidArgument, match=r"port 0 on 192\.0\.2\.1"):
        bind("192.0.2.1", 0)
