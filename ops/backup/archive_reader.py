"""Reading an archive, and refusing a bad one whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ops.backup.manifest import BackupManifest
from ops.backup.source import everything


@dataclass(frozen=True, slots=True)
class Opener:
    """What opens an archive. ``identities``: age secret keys (AGE-SECRET-KEY-1…); ``trusted``: public keys by kid that
    a signature is checked with; ``signed_only``: refuse an archive that none of these signed."""

    identities: tuple[str, ...] = ()
    passphrase: str | None = None
    trusted: Mapping[str, Ed25519PublicKey] = field(default_factory=dict)
    signed_only: bool = False


NO_KEYS = Opener()


class ArchiveSource:
    """An archive as a ``BackupSource``. ``signed_by``: the kid of the trusted key that signed it; set once the manifest
    was read."""

    def __init__(self, path: Path, opener: Opener = NO_KEYS) -> None:
        self.path = path
        self.signed_by: str | None = None
        self._opener = opener

    def read_manifest(self) -> BackupManifest:
        raise NotImplementedError

    def extract(self, into: Path, wanted: Callable[[str], bool] = everything) -> BackupManifest:
        raise NotImplementedError


def open_archive(path: Path, opener: Opener = NO_KEYS) -> ArchiveSource:
    """The archive at ``path``. Raises ``NotFound``."""
    raise NotImplementedError
