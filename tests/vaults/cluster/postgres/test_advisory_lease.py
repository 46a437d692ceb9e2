from __future__ import annotations

from vaults.cluster.postgres.advisory_lease import AdvisoryLease
from vaults.cluster.postgres.connections import Connections


def test_one_has_it_until_it_gives_it_back(connections: Connections) -> None:
    one, two, other = (AdvisoryLease(connections, name) for name in ("a", "a", "b"))
    assert one.try_acquire()
    assert one.try_acquire()
    assert not two.try_acquire()
    assert other.try_acquire()
    one.release()
    assert two.try_acquire()
    two.release()
    other.release()


def test_who_loses_the_connection_loses_it(connections: Connections) -> None:
    one, two = AdvisoryLease(connections, "a"), AdvisoryLease(connections, "a")
    assert one.try_acquire()
    with connections.use() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        )
        connection.execute("SELECT pg_sleep(0)")
    while not two.try_acquire():  # the backend that is ended lets go on its way out
        pass
    assert not one.try_acquire()
    two.release()
    assert one.try_acquire()
    one.release()
