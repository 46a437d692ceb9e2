from __future__ import annotations

import http.client
import socket
import struct
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from structlog.testing import capture_logs

from ops.exposition import MetricsServer, read_figures
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


class Flickering:
    """Figures that cannot be read so many times, as those of a worker that ends just then."""

    def __init__(self, times: int, failure: Exception) -> None:
        self.left, self.failure = times, failure

    def collect(self) -> Iterator[Metric]:
        if self.left:
            self.left -= 1
            raise self.failure
        yield GaugeMetricFamily("steady", "is there", 1)


@pytest.mark.parametrize("failure", [FileNotFoundError("counter_7.db"), struct.error("4 bytes"), ValueError("no JSON")])
def test_figures_of_a_worker_that_ends_meanwhile_are_read_again(failure: Exception) -> None:
    registry, figures = CollectorRegistry(), Flickering(0, failure)
    registry.register(figures)  # looks at what there is
    figures.left = 2
    assert b"steady 1.0" in read_figures(registry)


def test_a_scrape_that_fails_is_a_line_of_the_log_and_no_traceback(
    exposed, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr("ops.exposition.read_figures", fail)
    with capture_logs() as lines, pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(exposed, "/metrics")
    assert [each["event"] for each in lines] == ["scrape_failed"]
    assert "----" not in capfd.readouterr().err
