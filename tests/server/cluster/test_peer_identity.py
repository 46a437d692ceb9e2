"""The keys of servers: each is trusted by itself, whatever else is signed or called alike."""

from __future__ import annotations

import ssl
import tempfile

import pytest
from cryptography import x509

from server.cluster.peer_identity import make_identity, to_der, trust


def shake_hands(listening: ssl.SSLContext, calling: ssl.SSLContext) -> tuple[bytes | None, bytes | None]:
    """The certificates that listener and caller saw. Raises ``ssl.SSLError``."""
    to_listener, to_caller = ssl.MemoryBIO(), ssl.MemoryBIO()
    listener = listening.wrap_bio(to_listener, to_caller, server_side=True)
    caller = calling.wrap_bio(to_caller, to_listener, server_hostname="strongroom")
    done = 0
    for side in (caller, listener, caller, listener):
        try:
            side.do_handshake()
            done += 1
        except ssl.SSLWantReadError:
            pass
    assert done
    return listener.getpeercert(binary_form=True), caller.getpeercert(binary_form=True)


def test_two_servers_that_know_each_other_see_each_other() -> None:
    one, other = make_identity(), make_identity()
    listening = one.listening_context()
    trust(listening, other.certificate)
    seen = shake_hands(listening, other.calling_context(one.certificate))
    assert seen == (to_der(other.certificate), to_der(one.certificate))


def test_a_stranger_is_refused_on_either_side() -> None:
    one, other, stranger = make_identity(), make_identity(), make_identity()
    listening = one.listening_context()
    trust(listening, other.certificate)
    with pytest.raises(ssl.SSLError):
        shake_hands(listening, stranger.calling_context(one.certificate))
    with pytest.raises(ssl.SSLError):
        shake_hands(listening, other.calling_context(stranger.certificate))


def test_a_certificate_signs_no_others() -> None:
    certificate = x509.load_pem_x509_certificate(make_identity().certificate.encode())
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_the_key_is_never_readable_on_the_disk(tmp_path, monkeypatch) -> None:
    written = []
    load = ssl.SSLContext.load_cert_chain

    def look(self, certfile, keyfile=None, password=None):
        written.append(certfile.read_text())
        load(self, certfile, keyfile, password)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", look)
    identity = make_identity()
    identity.listening_context()
    assert ["ENCRYPTED PRIVATE KEY" in each for each in written] == [True]
    assert list(tmp_path.iterdir()) == []
    assert "PRIVATE" not in repr(identity)


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(ValueError, match="certificate"):
        trust(make_identity().listening_context(), "nonsense")
    with pytest.raises(ValueError, match=r".+"):
        to_der("")
