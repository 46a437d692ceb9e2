"""A bucket as a store of backups, by the S3 protocol: at the endpoint the operator set, and nowhere else.

Credentials are those of the settings. The library would look for others in the environment and ask the machine's
metadata service; a provider of ours keeps it from both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ops.backup.store import StoredObject, unreachable_error
from vaults.errors import AlreadyExists, Forbidden, NotFound, StrongroomError, VaultUnavailable

if TYPE_CHECKING:
    from obstore.store import S3Store as _Bucket

GRACE_S = 86_400.0
"""Longer than any backup takes: what was stored since may be about to be named."""

CONNECT_S, READ_S, WHOLE_S, RETRY_S = 5, 30, 300, 60
"""Seconds until a connection stands, between two bytes, of a whole request, and in which a request is tried again."""

RETRIES = 4
DELETED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """Where a bucket is, and who asks. ``prefix``: of all keys, without slashes at its ends."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    access_key: str
    secret_key: str = field(repr=False)


class S3Store:
    """Objects of a bucket. No lock is known there, so what nothing names is left for ``GRACE_S``."""

    grace_s = GRACE_S

    def __init__(self, address: BucketAddress) -> None:
        self.name = "/".join(filter(None, ("s3:/", address.bucket, address.prefix)))
        self._bucket = _open_bucket(address)

    def put(self, key: str, data: bytes) -> None:
        with self._translated():
            self._bucket.put(key, data, mode="overwrite", use_multipart=False)

    def create(self, key: str, data: bytes) -> None:
        with self._translated():
            self._bucket.put(key, data, mode="create", use_multipart=False)

    def create_file(self, key: str, path: Path) -> None:
        # In parts, which no service makes conditional: the caller's key holds a number and a moment.
        if self.find(key) is not None:
            raise AlreadyExists("there is such a backup already")
        with self._translated():
            self._bucket.put(key, path, use_multipart=True)

    def digest(self, key: str) -> bytes:
        digest = hashlib.sha256()
        with self._translated():
            for piece in self._bucket.get(key).stream():
                digest.update(piece)
        return digest.digest()

    def settle(self) -> None:
        """Nothing to wait for: an object that was taken is lasting."""

    def get(self, key: str) -> bytes:
        with self._translated():
            return bytes(self._bucket.get(key).bytes())

    def find(self, key: str) -> StoredObject | None:
        try:
            with self._translated():
                return _describe(self._bucket.head(key))
        except NotFound:
            return None

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        with self._translated():
            for page in self._bucket.list(f"{prefix}/"):
                yield from map(_describe, page)

    def list_folders(self, prefix: str) -> list[str]:
        with self._translated():
            found = self._bucket.list_with_delimiter(f"{prefix}/")["common_prefixes"]
        return sorted(each.rstrip("/").rpartition("/")[2] for each in found)

    def delete(self, keys: Iterable[str]) -> None:
        wanted = list(keys)
        with self._translated():
            for first in range(0, len(wanted), DELETED_AT_ONCE):
                self._bucket.delete(wanted[first : first + DELETED_AT_ONCE])

    @contextmanager
    def hold(self, prefix: str) -> Iterator[None]:  # noqa: ARG002  the shape of a store's method
        yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        from obstore import exceptions

        try:
            yield
        except exceptions.AlreadyExistsError:
            raise AlreadyExists("there is such a backup already") from None
        except (FileNotFoundError, exceptions.BaseError) as failure:
            raise self._error(failure) from None  # its text may hold what was sent

    def _error(self, failure: Exception) -> StrongroomError:
        from obstore import exceptions

        if "NoSuchBucket" in str(failure):
            hint = "make the bucket, or mend backup.to"
            return VaultUnavailable(f"there is no such bucket: {self.name}", hint=hint, reason="target")
        if isinstance(failure, FileNotFoundError):  # what the library raises for NotFoundError
            return NotFound("the target of backups has no such object")
        if isinstance(failure, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
            hint = "look at backup.access_key, its secret and what they may do"
            return Forbidden(f"the target of backups does not accept the credentials: {self.name}", hint=hint)
        return unreachable_error(self.name)


def _open_bucket(address: BucketAddress) -> _Bucket:
    try:
        from obstore.store import S3Store as Bucket
    except ImportError:
        raise VaultUnavailable(
            "backups to S3 need a library that is not installed", hint="pip install 'strongroom[backup]'"
        ) from None

    def credentials() -> Any:
        return {
            "access_key_id": address.access_key,
            "secret_access_key": address.secret_key,
            "token": None,
            "expires_at": None,
        }

    return Bucket(
        address.bucket,
        prefix=address.prefix or None,
        config={
            "endpoint": address.endpoint,
            "region": address.region,
            "virtual_hosted_style_request": False,
            "skip_signature": False,
            "imdsv1_fallback": False,
        },
        client_options={
            "allow_http": address.endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=CONNECT_S),
            "read_timeout": timedelta(seconds=READ_S),
            "timeout": timedelta(seconds=WHOLE_S),
        },
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_S)},
        credential_provider=credentials,
    )


def _describe(found: Any) -> StoredObject:
    return StoredObject(found["path"], found["size"], found["last_modified"])
