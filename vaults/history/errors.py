"""The one failure of history. Notes are saved without it; people see its reason."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from vaults.errors import StrongroomError


class HistoryUnavailable(StrongroomError):
    """History can be neither read nor written now; the notes themselves are fine.

    ``reason`` is a short fixed phrase, never exception text: safe for logs, alerts and callers. The error shares the
    code of an unavailable vault, but is no ``VaultUnavailable``: nobody may think the vault is gone.
    """

    code = "vault_unavailable"
    retryable = True

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The history of this vault is unavailable: {reason}.",
            hint="Notes are read and saved as usual; only their history is not.",
            reason=reason,
        )
        self.reason = reason


class ObjectMissing(HistoryUnavailable):
    """An object is missing: damage in strongroom's history, allowed in a branch of a shallow or partial clone."""

    def __init__(self) -> None:
        super().__init__("objects of the history are missing")


@contextmanager
def translate_git_errors(doing: str) -> Iterator[None]:
    """Turn whatever the file system, zlib or libgit2 raises into ``HistoryUnavailable``.

    That includes KeyError and ValueError because pygit2 raises them for absent and malformed objects.
    """
    try:
        yield
    except StrongroomError:
        raise
    except PermissionError as failure:
        raise HistoryUnavailable(f"{doing} is not permitted") from failure
    except (OSError, zlib.error, LookupError, ValueError, MemoryError, RecursionError) as failure:
        raise HistoryUnavailable(f"{doing} failed") from failure
    except Exception as failure:
        # GitError derives from Exception alone, and naming it would import pygit2 before anything needs it.
        if type(failure).__module__.partition(".")[0] not in ("pygit2", "_pygit2"):
            raise
        raise HistoryUnavailable(f"{doing} failed") from failure
