"""What pages ask for a passkey, and what is made of the answers. Each question is for one purpose, in one browser and
one session of it, and answered once."""

from __future__ import annotations

import asyncio
import json

from auth.one_time import digest_of
from auth.people import passkeys, people
from auth.people.challenges import is_challenge, make_challenge
from auth.people.passkeys import NewPasskey, Passkey
from auth.people.webauthn_answers import (
    Asserted,
    WrongAnswer,
    check_assertion,
    check_creation,
    creation_options,
    read_assertion,
    read_creation,
    relying_party_of,
    request_options,
)
from server.oauth.parts import SignInParts
from server.oauth.visits import Visit, Visits

SIGN_IN = "sign in"


class StaleQuestion(Exception):
    """The answer is to a question that was not asked in this browser, or too long ago."""


class PasskeyQuestions:
    """Texts it gives are JSON for a page's script; None where browsers make no passkeys for this server. The library is
    imported on a thread, at the first question."""

    def __init__(self, parts: SignInParts, visits: Visits) -> None:
        self._parts, self._visits = parts, visits
        self._party = relying_party_of(parts.url)

    async def to_sign_in(self, visit: Visit) -> str | None:
        """Ask for any passkey of this server: whoever's it is."""
        if self._party is None:
            return None
        challenge = make_challenge(self._parts.seal, self._bound(visit, SIGN_IN), self._parts.now())
        return json.dumps(await asyncio.to_thread(request_options, self._party, challenge))

    async def to_make(self, visit: Visit, name: str) -> str | None:
        """Ask for a new passkey of somebody who is known."""
        if self._party is None:
            return None
        person, known = await self._parts.control.read(
            lambda tx: (people.require(tx, name), passkeys.list_passkeys(tx, name))
        )
        challenge = make_challenge(self._parts.seal, self._bound(visit, _making(name)), self._parts.now())
        handle = bytes.fromhex(person.handle)
        return json.dumps(await asyncio.to_thread(creation_options, self._party, name, handle, known, challenge))

    async def made(self, visit: Visit, name: str, text: str) -> tuple[NewPasskey, bytes]:
        """The passkey that was made for ``name``, and the challenge that is to be used up with keeping it. Raises
        ``StaleQuestion`` or ``WrongAnswer``."""
        if self._party is None:
            raise WrongAnswer("number")
        credential, challenge = await asyncio.to_thread(read_creation, text)
        self._refuse_stale(visit, _making(name), challenge)
        return await asyncio.to_thread(check_creation, self._party, credential, challenge), challenge

    async def signed(self, visit: Visit, text: str) -> tuple[Passkey, Asserted]:
        """Whose passkey signed. The challenge is to be used up, and the counter compared, with letting them in. Raises
        ``StaleQuestion`` or ``WrongAnswer``."""
        if self._party is None:
            raise WrongAnswer("number")
        credential, challenge = await asyncio.to_thread(read_assertion, text)
        self._refuse_stale(visit, SIGN_IN, challenge)
        known = await self._parts.control.read(lambda tx: passkeys.find(tx, credential.id))
        if known is None:
            raise WrongAnswer("unknown")
        return known, await asyncio.to_thread(check_assertion, self._party, credential, challenge, known)

    def _refuse_stale(self, visit: Visit, purpose: str, challenge: bytes) -> None:
        if not is_challenge(challenge, self._parts.seal, self._bound(visit, purpose), self._parts.now()):
            raise StaleQuestion

    def _bound(self, visit: Visit, purpose: str) -> str:
        return f"{purpose}\0{self._visits.form_value(visit)}"


def _making(name: str) -> str:
    return f"make {digest_of(name)}"
