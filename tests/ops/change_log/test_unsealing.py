"""Parts of a log are opened whether they are encrypted or not, and a key that is missing is named."""

from __future__ import annotations

import pyrage
import pytest

from ops.backup.sealing import close
from ops.change_log.unsealing import make_unseal
from vaults.errors import InvalidArgument


def test_parts_are_opened_with_the_key_they_need() -> None:
    identity = pyrage.x25519.Identity.generate()
    sealed = close(b"what was committed", (str(identity.to_public()),))
    unseal = make_unseal((str(identity),))
    assert unseal(sealed) == b"what was committed"
    assert unseal(b"plain as it is") == b"plain as it is"
    with pytest.raises(InvalidArgument, match="--identity-file"):
        make_unseal(())(sealed)
    with pytest.raises(InvalidArgument):
        make_unseal((str(pyrage.x25519.Identity.generate()),))(sealed)
