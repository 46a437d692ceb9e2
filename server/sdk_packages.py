"""Imports the SDK's modules without everything else the SDK has.

``mcp`` and ``mcp.server`` import clients and a second server as soon as one of their modules is asked for: 14 MiB and a
fifth of a second for code that a server never runs. Here such a package is there at once, so that its modules can be
imported, and what its own ``__init__`` defines is made when somebody asks for it: ``from mcp import Client`` works as
ever. Without ``typing``, because the hook that an agent's program waits for at each turn imports this too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGES = frozenset({"mcp", "mcp.server"})

_filling = threading.RLock()


class _DeferredPackage(ModuleType):
    """A package whose ``__init__`` runs when a name is asked for that is not there yet."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__all__":  # what importing and inspecting look for
            raise AttributeError(name)
        with _filling:  # as in importlib's own LazyLoader: others wait until all of it is there
            if name not in self.__dict__ and "_begun" not in self.__dict__:
                self.__dict__["_begun"] = True  # the modules it imports ask it, too, for what is not there yet
                spec = self.__spec__
                assert spec is not None
                assert spec.loader is not None
                try:
                    spec.loader.exec_module(self)
                except BaseException:
                    del self.__dict__["_begun"]  # whoever asks next gets the failure as well
                    raise
                self.__class__ = ModuleType  # type: ignore[assignment]
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


class _DeferringLoader:
    """Makes such a package. ``then``: the loader that can run its ``__init__``."""

    def __init__(self, then: object) -> None:
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _DeferredPackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing yet: the package is there."""
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self._then  # type: ignore[assignment]


class _SdkFinder:
    """Finds the packages as ever, and has them made so."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in PACKAGES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _DeferringLoader(spec.loader)  # type: ignore[assignment]
        return spec


def defer_packages() -> None:
    """From here on. A package that is imported already stays as it is."""
    if _SdkFinder not in sys.meta_path:
        sys.meta_path.insert(0, _SdkFinder)
