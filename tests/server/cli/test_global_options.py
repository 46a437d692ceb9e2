"""Global options may stand anywhere; nothing else is moved, whatever it looks like."""

from __future__ import annotations

import pytest

from server.cli.global_options import hoist_global_options


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["vault", "list", "--data", "d"], ["--data", "d", "vault", "list"]),
        (["vault", "--data=d", "list", "--json"], ["--data=d", "vault", "list", "--json"]),
        (["--data", "d", "version"], ["--data", "d", "version"]),
        (["call", "x", "--vault", "--data"], ["call", "x", "--vault", "--data"]),
        (["call", "x", '{"--data": 1}', "--vault", "v"], ["call", "x", '{"--data": 1}', "--vault", "v"]),
        (["call", "x", "--", "--data", "d"], ["call", "x", "--", "--data", "d"]),
        (
            ["stdio", "--read-only", "--log-level", "debug", "--vault", "v"],
            ["--log-level", "debug", "stdio", "--read-only", "--vault", "v"],
        ),
        (["serve", "--data"], ["--data", "serve"]),
        (["call", "x", "-", "--vault", "v", "--config", "c"], ["--config", "c", "call", "x", "-", "--vault", "v"]),
        ([], []),
    ],
)
def test_global_options_move_to_the_front(given: list[str], expected: list[str]) -> None:
    assert hoist_global_options(given) == expected
