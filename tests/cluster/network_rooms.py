"""Machines of a network, as far as packets go: namespaces of Linux on a bridge, each with rules of its own. What is cut
off is dropped without a word, as by a switch or a firewall; a proxy ends connections, or answers for who is silent.

Needs root, ``ip`` and ``iptables``; skips without.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class NetworkRoom:
    """One machine. ``prefix``: before a command that is to run on it. Blocking."""

    name: str
    address: str
    bridge: str
    """The address of everything outside: PostgreSQL, and callers."""

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def cut_off(self) -> None:
        """From everything."""
        run("ip", "-n", self.name, "link", "set", "eth0", "down")

    def cut_from_database(self, port: int) -> None:
        self._drop("INPUT", "-s", self.bridge, "-p", "tcp", "--sport", str(port))
        self._drop("OUTPUT", "-d", self.bridge, "-p", "tcp", "--dport", str(port))

    def cut_from_callers(self, port: int) -> None:
        """``port``: at which callers reach it."""
        self._drop("INPUT", "-s", self.bridge, "-p", "tcp", "--dport", str(port))
        self._drop("OUTPUT", "-d", self.bridge, "-p", "tcp", "--sport", str(port))

    def cut_from(self, others: Sequence[NetworkRoom]) -> None:
        """From the other machines, and not from PostgreSQL."""
        for each in others:
            if each is not self:
                self._drop("INPUT", "-s", each.address)
                self._drop("OUTPUT", "-d", each.address)

    def heal(self) -> None:
        run("ip", "-n", self.name, "link", "set", "eth0", "up")
        run(*self.prefix, "iptables", "-F")

    def _drop(self, chain: str, *rule: str) -> None:
        run(*self.prefix, "iptables", "-A", chain, *rule, "-j", "DROP")


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"


@contextlib.contextmanager
def network_rooms(count: int) -> Iterator[tuple[NetworkRoom, ...]]:
    """As many machines, in a network of this process."""
    skip_without_namespaces()
    number = os.getpid() % 250 + 1
    bridge, net = f"strong{number}", f"10.213.{number}"
    rooms = tuple(NetworkRoom(f"{bridge}-{each}", f"{net}.{each + 2}", f"{net}.1") for each in range(count))
    with contextlib.ExitStack() as stack:
        run("ip", "link", "add", bridge, "type", "bridge")
        stack.callback(run, "ip", "link", "del", bridge)
        run("ip", "address", "add", f"{net}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for place, room in enumerate(rooms):
            run("ip", "netns", "add", room.name)
            stack.callback(run, "ip", "netns", "del", room.name)
            _plug_in(room, bridge, f"{bridge}.{place}")
            stack.callback(run, "ip", "link", "del", f"{bridge}.{place}")  # it outlives its namespace for a while
        yield rooms


def _plug_in(room: NetworkRoom, bridge: str, plug: str) -> None:
    run("ip", "link", "add", plug, "type", "veth", "peer", "name", "eth0", "netns", room.name)
    run("ip", "link", "set", plug, "master", bridge, "up")
    run("ip", "-n", room.name, "address", "add", f"{room.address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        run("ip", "-n", room.name, "link", "set", device, "up")


def skip_without_namespaces() -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("iptables") is None:
        pytest.skip("needs root, ip and iptables")
    made = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("no namespaces of networks can be made here")
