"""What archives are called: whose, from when, of which schema and version. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ops.backup.manifest import BackupManifest

PLAIN, ENCRYPTED = ".tar.zst", ".tar.zst.age"
_NAME = re.compile(
    r"(?P<vault>.+)-(?P<at>\d{8}T\d{6}Z)-s(?P<schema>\d{1,5})-v(?P<version>[0-9A-Za-z.+_-]+?)\.tar\.zst(?P<age>\.age)?"
)
_FORM = "%Y%m%dT%H%M%SZ"
CONTROL = "control"


@dataclass(frozen=True, slots=True)
class ArchiveName:
    """The parts of a name. The manifest is what counts; this is for people, and for finding the newest."""

    vault: str
    at: str  # such as 20261125T215311Z: text order is time order
    schema: int
    version: str
    encrypted: bool

    def __str__(self) -> str:
        end = ENCRYPTED if self.encrypted else PLAIN
        return f"{self.vault}-{self.at}-s{self.schema}-v{self.version}{end}"

    def later(self) -> ArchiveName:
        """The name a second later, where this one is taken."""
        moment = datetime.strptime(self.at, _FORM).replace(tzinfo=UTC) + timedelta(seconds=1)
        return ArchiveName(self.vault, moment.strftime(_FORM), self.schema, self.version, self.encrypted)


def name_of(manifest: BackupManifest, *, encrypted: bool) -> ArchiveName:
    """The name of an archive with this manifest. That of the installation begins with an underscore, as no vault's."""
    whose = manifest.vault or f"_{CONTROL}"
    at = re.sub(r"[-:]|\.\d+", "", manifest.made_at)
    version = re.sub(r"[^0-9A-Za-z.+_]", "_", manifest.version)
    return ArchiveName(whose, at, manifest.schema_steps, version, encrypted)


def parse_name(name: str) -> ArchiveName | None:
    """The parts of a file's name; None if it is no archive's."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    return ArchiveName(
        found["vault"], found["at"], int(found["schema"]), found["version"], encrypted=found["age"] is not None
    )
