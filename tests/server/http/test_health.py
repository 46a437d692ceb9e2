from __future__ import annotations

from starlette.applications import Starlette
from starlette.testclient import TestClient

from ops.health import HealthRegistry
from server.http.health import health_routes
from vaults.errors import VaultUnavailable


def client(health):
    return TestClient(Starlette(routes=health_routes(health)))


async def ok():
    return "ok"


async def broken():
    raise VaultUnavailable("/srv/strongroom/control.db is locked")


def test_live_says_nothing_but_live():
    answer = client(HealthRegistry()).get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "live"})


def test_ready_has_one_word_per_part():
    health = HealthRegistry()
    health.register("control", ok, required=True)
    health.register("embedding", broken, required=False)
    answer = client(health).get("/health/ready")
    assert answer.status_code == 200
    assert answer.json() == {"status": "degraded", "parts": {"control": "ok", "embedding": "failed"}}
    assert answer.headers["cache-control"] == "no-store"


def test_a_broken_control_database_is_503_and_says_no_path():
    health = HealthRegistry()
    health.register("control", broken, required=True)
    answer = client(health).get("/health/ready")
    assert answer.status_code == 503
    assert "/srv" not in answer.text


def test_draining_is_503():
    health = HealthRegistry()
    health.register("control", ok, required=True)
    health.drain()
    assert client(health).get("/health/ready").status_code == 503


def test_details_stand_beside_the_parts_and_are_asked_for_each_answer():
    health, held = HealthRegistry(), [3]
    health.register_details("cluster", lambda: {"vaults": held[0]})
    asked = client(health)
    assert asked.get("/health/ready").json() == {"status": "ready", "parts": {}, "cluster": {"vaults": 3}}
    held[0] = 4
    assert asked.get("/health/ready").json()["cluster"] == {"vaults": 4}
