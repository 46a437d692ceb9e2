"""What is imported of the SDK, in interpreters of its own: importing happens once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_server_imports_neither_a_client_nor_the_other_server_of_the_sdk() -> None:
    loaded = run("import sys, server.http.app; print(*sorted(sys.modules))").split()
    assert "mcp.server.lowlevel.server" in loaded
    assert not {"mcp.client", "mcp.server.mcpserver", "httpx2"} & set(loaded)


@pytest.fixture(scope="module")
def said() -> list[str]:
    """What one interpreter says that asks for one thing after another, in the order in which it is asked for."""
    program = """
import inspect, sys, server, mcp
from concurrent.futures import ThreadPoolExecutor
print(mcp.__file__ == inspect.getsourcefile(mcp), len(mcp.__path__))
import mcp.server.lowlevel
deferred = type(mcp).__name__
sys.setswitchinterval(1e-5)
with ThreadPoolExecutor(8) as pool:
    print(deferred, len({id(each) for each in pool.map(lambda _: mcp.ClientSession, range(8))}))
from mcp import Client
import mcp.client.client
assert Client is mcp.client.client.Client
assert mcp.server.MCPServer.__module__ == 'mcp.server.mcpserver.server'
assert mcp.types.Tool
print(mcp.server.Server is mcp.server.lowlevel.Server, len(mcp.__all__) > 40)
"""
    return run(program).splitlines()


def test_where_a_package_is_from_is_known_before_it_is_asked(said: list[str]) -> None:
    assert said[0] == "True 1"


def test_threads_that_ask_at_once_all_get_it(said: list[str]) -> None:
    assert said[1] == "_DeferredPackage 1"


def test_what_the_packages_define_is_there_for_whoever_asks(said: list[str]) -> None:
    assert said[2] == "True True"


def test_a_name_that_is_not_there_is_told_as_ever() -> None:
    program = """
import server, mcp
try:
    from mcp import NothingOfTheKind
except ImportError as failure:
    print(failure.name)
print(hasattr(mcp, "nothing"), hasattr(mcp.server, "__nothing__"))
"""
    assert run(program) == "mcp\nFalse False"


def test_a_package_that_was_imported_before_stays_as_it_is() -> None:
    assert run("import mcp; known = mcp; import server, mcp.server; print(mcp is known, type(mcp).__name__)") == (
        "True module"
    )
