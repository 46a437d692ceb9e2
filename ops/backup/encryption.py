"""Archives under age: for the holders of keys, or with a passphrase."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from vaults.errors import InvalidArgument, StrongroomError

MAGIC = b"age-encryption.org/v1"
BY_PASSPHRASE = MAGIC + b"\n-> scrypt "
_WAITING = 4
"""Pieces between the thread that decrypts and its reader."""


def check_recipients(recipients: Sequence[str]) -> list[Any]:
    """Recipients as the library has them. Raises ``InvalidArgument`` naming the first that is none."""
    age, found = _load(), []
    for text in recipients:
        kind = age.ssh if text.startswith("ssh-") else age.x25519
        try:
            found.append(kind.Recipient.from_str(text))
        except age.RecipientError:
            raise InvalidArgument(
                "recipients", f"has one that is no public key of age: {text[:80]}", hint="age-keygen makes a pair"
            ) from None
    return found


def encrypt_for(plain: Iterable[bytes], recipients: Sequence[str], write: Callable[[bytes], None]) -> None:
    """Write the encrypted form of ``plain``, as it comes. Raises what ``plain`` and ``write`` raise."""
    age, keys = _load(), check_recipients(recipients)
    pulled, pushed = _Pulled(iter(plain)), _Pushed(write)
    try:
        age.encrypt_io(pulled, pushed, keys)
    except age.EncryptError as failure:  # it makes text of what its reader and its writer raise
        raise pulled.failure or pushed.failure or failure from None
    if pushed.failure is not None:  # and of what its last write raises it says nothing
        raise pushed.failure


def check_identities(identities: Sequence[str]) -> list[Any]:
    """Secret keys as the library has them. Raises ``InvalidArgument``; says nothing of what was given."""
    age, found = _load(), []
    for text in identities:
        try:
            if text.startswith("AGE-SECRET-KEY-"):
                found.append(age.x25519.Identity.from_str(text))
            else:
                found.append(age.ssh.Identity.from_buffer(text.encode()))
        except age.IdentityError:
            raise InvalidArgument("identity", "holds what is no secret key of age") from None
    if not found:
        raise InvalidArgument("archive", "is encrypted", hint="give the key file with --identity-file")
    return found


@contextmanager
def decrypted(file: Any, identities: Sequence[str]) -> Iterator[Callable[[], bytes]]:
    """The contents of an encrypted file that is read from its beginning: a function that gives the next piece, empty at
    the end. The library pushes what it decrypts, so it runs on a thread that waits for its reader."""
    age, keys = _load(), check_identities(identities)
    relay = _Relay()

    def work() -> None:
        try:
            age.decrypt_io(file, _Pushed(relay.push), keys)
        except Exception as failure:  # noqa: BLE001  told to the reader
            relay.end(failure)
        else:
            relay.end(b"")

    thread = threading.Thread(target=work, name="backup-decrypt", daemon=True)
    thread.start()
    try:
        yield relay.take
    finally:
        relay.leave()
        thread.join()


class _Relay:
    """Pieces on their way from the thread that decrypts to its reader, a few at most."""

    def __init__(self) -> None:
        self._pieces: queue.Queue[bytes | Exception] = queue.Queue()
        self._room = threading.Semaphore(_WAITING)
        self._left = False
        self._ended = False

    def push(self, piece: bytes) -> None:
        self._room.acquire()
        if self._left:
            raise BrokenPipeError
        self._pieces.put(piece)

    def end(self, last: bytes | Exception) -> None:
        """Say that nothing follows, or why."""
        self._pieces.put(last)

    def take(self) -> bytes:
        """The next piece; empty at the end, however often one asks: what is inside may be shorter than it says."""
        if self._ended:
            return b""
        found = self._pieces.get()
        self._ended = not found or isinstance(found, Exception)
        self._room.release()
        if isinstance(found, Exception):
            raise _explain(found) from found
        return found

    def leave(self) -> None:
        """The reader has gone: whoever pushes is not to wait for it."""
        self._left = True
        self._room.release()


def _explain(failure: Exception) -> StrongroomError:
    if isinstance(failure, StrongroomError):
        return failure
    if "No matching keys" in str(failure):
        return InvalidArgument("archive", "is encrypted for other keys than those given")
    return InvalidArgument("archive", "is damaged or cut short")


class _Pulled:
    """What the library reads: the pieces of an iterator, one after another."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.failure: Exception | None = None
        self._pieces = pieces
        self._held = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        while not self._held:
            try:
                piece = next(self._pieces, None)
            except Exception as failure:
                self.failure = failure
                raise
            if piece is None:
                return b""
            self._held = memoryview(piece)
        if size < 0 or size >= len(self._held):
            found, self._held = self._held, self._held[:0]
        else:
            found, self._held = self._held[:size], self._held[size:]
        return bytes(found)


class _Pushed:
    """What the library writes to."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.failure: Exception | None = None
        self._write = write

    def write(self, data: bytes) -> int:
        try:
            self._write(bytes(data))
        except Exception as failure:
            self.failure = failure
            raise
        return len(data)

    def flush(self) -> None:
        """Nothing is held back here."""


def _load() -> ModuleType:
    try:
        import pyrage
    except ImportError:
        raise InvalidArgument("recipients", "need the library pyrage", hint="install strongroom[backup]") from None
    module: ModuleType = pyrage
    return module
