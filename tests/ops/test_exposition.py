from __future__ import annotations

import http.client
import socket

import pytest
from prometheus_client import CollectorRegistry

from ops.exposition import MetricsServer
from ops.metrics import Metrics
from tests.work import PATIENCE_S


@pytest.fixture
def exposed():
    registry = CollectorRegistry()
    Metrics(registry, tools=[], version="1")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = MetricsServer(registry, listener)
    yield port
    server.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def ask(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_only_get_metrics_is_served(exposed):
    answer, body = ask(exposed, "/metrics")
    assert answer.status == 200
    assert "strongroom_open_vaults 0.0" in body
    assert "Python" not in answer.headers["Server"]
    assert ask(exposed, "/")[0].status == 404
    assert ask(exposed, "/metrics/../etc")[0].status == 404
    assert ask(exposed, "/metrics", "POST")[0].status == 501


def test_a_client_that_sends_nothing_keeps_nobody_waiting(exposed):
    with socket.create_connection(("127.0.0.1", exposed)):
        assert ask(exposed, "/metrics")[0].status == 200
