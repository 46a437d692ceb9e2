"""WebAuthn: what a browser is asked, and whether its answer holds. The protocol is the library's; it is imported at the
first use, which takes half a second. Pure, and quick enough for the event loop afterwards.

No attestation is asked for, so which make a passkey is of stays with its owner; the person must have been verified by
finger, face or PIN, and the passkey must be one that names its person itself.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm

from auth.people.challenges import LIFE_S
from auth.people.passkeys import NewPasskey, Passkey

if TYPE_CHECKING:
    from webauthn.helpers.structs import AuthenticationCredential, RegistrationCredential

_ATTESTATIONS = frozenset({"none", "packed"})
"""Forms taken: none, and by its own key, which browsers leave as it is."""

_LONGEST_ID = 1023
"""Bytes of a credential's id (WebAuthn §4)."""


class WrongAnswer(Exception):
    """The answer does not hold. Nobody is told why: the reason is for tests and for whoever debugs."""


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """For whom passkeys are made: ``id`` is a host, ``origin`` what the browser says the page is of."""

    id: str
    origin: str


@dataclass(frozen=True, slots=True)
class Asserted:
    """Somebody signed ``challenge`` with a passkey, and it says it did so ``sign_count`` times."""

    challenge: bytes
    sign_count: int


def relying_party_of(url: str) -> RelyingParty | None:
    """For whom passkeys are made where people find the server at ``url``; None where browsers make none: at an
    address that is a number."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        usual = {"https": 443, "http": 80}.get(parts.scheme)
        port = "" if parts.port in (None, usual) else f":{parts.port}"
        return RelyingParty(host, f"{parts.scheme}://{host}{port}")
    return None


def creation_options(
    party: RelyingParty, person: str, handle: bytes, known: Iterable[Passkey], challenge: bytes
) -> dict[str, Any]:
    """What ``navigator.credentials.create`` is given, as JSON; ``known``: those somebody has, not to be made twice."""
    from webauthn import base64url_to_bytes, generate_registration_options
    from webauthn.helpers import options_to_json_dict
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialDescriptor,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options = generate_registration_options(
        rp_id=party.id,
        rp_name="strongroom",
        user_name=person,
        user_id=handle,
        challenge=challenge,
        timeout=LIFE_S * 1000,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=base64url_to_bytes(each.id)) for each in known],
    )
    return options_to_json_dict(options)


def request_options(party: RelyingParty, challenge: bytes) -> dict[str, Any]:
    """What ``navigator.credentials.get`` is given, as JSON. It names no passkey, so it tells of nobody's."""
    from webauthn import generate_authentication_options
    from webauthn.helpers import options_to_json_dict
    from webauthn.helpers.structs import UserVerificationRequirement

    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=LIFE_S * 1000,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json_dict(options)


def read_creation(text: str) -> tuple[RegistrationCredential, bytes]:
    """A browser's answer to ``creation_options``, not checked, and the challenge it says it is for. Raises
    ``WrongAnswer``."""
    from webauthn.helpers import parse_client_data_json, parse_registration_credential_json

    with _refusing():
        credential = parse_registration_credential_json(json.loads(text))
        return credential, _bytes(parse_client_data_json(credential.response.client_data_json).challenge)


def check_creation(party: RelyingParty, credential: RegistrationCredential, challenge: bytes) -> NewPasskey:
    """The passkey that was made. Raises ``WrongAnswer``."""
    from webauthn import verify_registration_response
    from webauthn.helpers import bytes_to_base64url, parse_attestation_object

    with _refusing():
        _refuse_frames(credential.response.client_data_json)
        # Chains of certificates are not even read: nobody here asks them anything.
        if parse_attestation_object(credential.response.attestation_object).fmt not in _ATTESTATIONS:
            raise WrongAnswer("attestation")
        made = verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
        if made.credential_id != credential.raw_id or len(made.credential_id) > _LONGEST_ID:
            raise WrongAnswer("id")
        return NewPasskey(bytes_to_base64url(made.credential_id), made.credential_public_key, made.sign_count)


def read_assertion(text: str) -> tuple[AuthenticationCredential, bytes]:
    """A browser's answer to ``request_options``, not checked, and the challenge it says it is for. Raises
    ``WrongAnswer``."""
    from webauthn.helpers import parse_authentication_credential_json, parse_client_data_json

    with _refusing():
        credential = parse_authentication_credential_json(json.loads(text))
        return credential, _bytes(parse_client_data_json(credential.response.client_data_json).challenge)


def check_assertion(
    party: RelyingParty, credential: AuthenticationCredential, challenge: bytes, known: Passkey
) -> Asserted:
    """That the passkey ``known`` signed. Its counter is for whoever keeps it to compare, with the signature checked.
    Raises ``WrongAnswer``."""
    from webauthn import verify_authentication_response

    with _refusing():
        _refuse_frames(credential.response.client_data_json)
        handle = credential.response.user_handle
        if not handle or not hmac.compare_digest(_bytes(handle), bytes.fromhex(known.handle)):
            raise WrongAnswer("person")
        found = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=known.public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
        return Asserted(challenge, found.new_sign_count)


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise WrongAnswer("no bytes")
    return value


def _refuse_frames(client_data: bytes) -> None:
    """Our pages are in no frame, so no answer of ours comes from one of another origin."""
    from webauthn.helpers import parse_client_data_json

    if parse_client_data_json(client_data).cross_origin:
        raise WrongAnswer("frame")


@contextmanager
def _refusing() -> Iterator[None]:
    """Whatever the library finds wrong with bytes of a stranger is a wrong answer: it says so in many ways."""
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        yield
    except (
        WebAuthnException, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError,
        UnsupportedAlgorithm,
    ) as failure:  # fmt: skip
        raise WrongAnswer(type(failure).__name__) from failure
