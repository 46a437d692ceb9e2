"""A port that cannot be had is named as it was set."""

from __future__ import annotations

import pytest

from server.listening_socket import bind
from vaults.errors import InvalidArgument


@pytest.mark.parametrize(("section", "named"), [("", "port"), ("cluster.", "cluster.port")])
def test_a_port_that_is_taken_is_named_as_it_was_set(section: str, named: str) -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(InvalidArgument, match=f"{named} ") as refused:
        bind("127.0.0.1", taken.getsockname()[1], section)
    assert refused.value.hint == "0 takes a free port"


def test_a_host_that_is_none_is_named() -> None:
    with pytest.raises(InvalidArgument, match=r"cluster\.host"):
        bind("256.256.256.256", 0, "cluster.")
