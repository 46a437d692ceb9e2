import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.bearer import bearer_token, challenge
from auth.errors import TokenInvalid


@pytest.mark.parametrize(
    "value",
    [b"Bearer abc.d-e_f", b"bearer abc.d-e_f", b"BEARER abc.d-e_f", b"BeArEr  abc.d-e_f", b"Bearer abc.d-e_f \t"],
)
def test_the_scheme_may_be_written_in_any_case(value: bytes) -> None:
    assert bearer_token([value]) == "abc.d-e_f"


@pytest.mark.parametrize("values", [[], [b"Basic dTpw"], [b""], [b"abc"], [b"Bearerabc"], [b"Digest x"]])
def test_no_bearer_token_is_not_a_bad_one(values: list[bytes]) -> None:
    assert bearer_token(values) is None


@pytest.mark.parametrize(
    "values",
    [
        [b"Bearer a", b"Bearer a"],
        [b"Bearer a", b"Basic b"],
        [b"Bearer"],
        [b"Bearer "],
        [b"Bearer a b"],
        [b"Bearer a, Bearer b"],
        [b"Bearer a\x00"],
        [b"Bearer a\nX: y"],
        [b"Bearer \xc3\xa4"],
        [b" Bearer a"],
        [b"Bearer\ta"],
        [b'Bearer "a"'],
    ],
)
def test_a_malformed_or_repeated_header_is_refused(values: list[bytes]) -> None:
    with pytest.raises(TokenInvalid) as caught:
        bearer_token(values)
    assert caught.value.reason == "header"


@given(st.lists(st.binary(max_size=60) | st.binary(max_size=30).map(lambda tail: b"Bearer " + tail), max_size=3))
def test_any_bytes_give_a_clean_token_or_none_or_a_refusal(values: list[bytes]) -> None:
    try:
        token = bearer_token(values)
    except TokenInvalid:
        return
    assert token is None or (len(values) == 1 and re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token))


def test_a_challenge_names_the_error_only_when_there_is_one() -> None:
    assert challenge("https://m/x", "vault:read") == 'Bearer scope="vault:read", resource_metadata="https://m/x"'
    assert challenge("https://m/x", "a b", "invalid_token").startswith('Bearer error="invalid_token", scope="a b", ')
