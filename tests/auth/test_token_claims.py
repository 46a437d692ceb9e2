"""Times, subjects, audiences and the unverified look: the pure part of checking a token."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.errors import TokenInvalid
from auth.token_claims import audiences_of, check_times, peek, subject_of

NOW = 1_000_000.0


def part(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "times",
    [
        {"exp": NOW + 1, "iat": NOW},
        {"exp": NOW - 29, "iat": NOW - 60},
        {"exp": NOW - 29.5, "iat": NOW - 60},
        {"exp": int(NOW) + 1, "iat": int(NOW) + 30},
        {"exp": NOW + 99, "iat": NOW, "nbf": NOW + 30},
        {"exp": NOW + 99.25, "iat": NOW - 0.5, "nbf": NOW - 0.5},
    ],
)
def test_times_within_the_leeway_are_good(times: dict[str, float]) -> None:
    assert check_times(times, NOW, 30) == times["exp"]


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ({"exp": NOW - 30, "iat": NOW - 60}, "expired"),
        ({"exp": NOW + 60, "iat": NOW + 31}, "not_yet_valid"),
        ({"exp": NOW + 60, "iat": NOW, "nbf": NOW + 31}, "not_yet_valid"),
        ({"exp": NOW + 60, "iat": NOW + 30.1}, "not_yet_valid"),
        ({"exp": 0, "iat": 0}, "expired"),
        ({"iat": NOW}, "claims"),
        ({"exp": NOW + 60}, "claims"),
        *[({"exp": bad, "iat": NOW}, "claims") for bad in ("2000000", "inf", None, True, [], {}, -1, 1e300, 10**400)],
        *[({"exp": bad, "iat": NOW}, "claims") for bad in (float("nan"), float("inf"), 2**53)],
        *[({"exp": NOW + 9, "iat": bad}, "claims") for bad in ("0", None, False, -0.5, float("nan"))],
        *[({"exp": NOW + 9, "iat": NOW, "nbf": bad}, "claims") for bad in ("0", None, True, float("-inf"))],
    ],
)
def test_any_other_time_is_refused(times: dict[str, object], reason: str) -> None:
    with pytest.raises(TokenInvalid) as caught:
        check_times(times, NOW, 30)
    assert caught.value.reason == reason


@pytest.mark.parametrize("sub", [None, "", 7, True, [], ["a"], {}, " a", "a\nb", "\ud800", "x" * 256, "a\x1b[31m"])
def test_a_subject_must_be_a_name(sub: object) -> None:
    with pytest.raises(TokenInvalid):
        subject_of({"sub": sub})
    with pytest.raises(TokenInvalid):
        subject_of({})


@pytest.mark.parametrize("aud", [None, "", [], [""], [1], ["a", None], {"a": 1}, 7, True, [["a"]]])
def test_an_audience_must_be_text_or_a_list_of_texts(aud: object) -> None:
    with pytest.raises(TokenInvalid) as caught:
        audiences_of({"aud": aud})
    assert caught.value.reason == "audience"
    with pytest.raises(TokenInvalid):
        audiences_of({})


GOOD_HEADER = {"alg": "EdDSA", "kid": "k"}


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        "a.b.c.d.e",
        f"{part(b'not json')}.{part({'iss': 'i'})}.",
        f"{part([1])}.{part({'iss': 'i'})}.",
        f"{part(GOOD_HEADER)}.{part('text')}.",
        f"{part(GOOD_HEADER)}.{part(b'[' * 5000)}.",
        f"{part(GOOD_HEADER)}.{part({'iss': 7})}.",
        f"{part(GOOD_HEADER)}.{part({'iss': ['i']})}.",
        f"{part(GOOD_HEADER)}.{part({})}.",
        f"{part(GOOD_HEADER)}.{part(b'{%s}' % (b'1' * 5000))}.",
        f"{part({**GOOD_HEADER, 'crit': ['b64'], 'b64': False})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'crit': []})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'crit': None})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'b64': True})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'typ': 7})}.{part({'iss': 'i'})}.",
        f"{part({'alg': 'EdDSA'})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'kid': 7})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'kid': ''})}.{part({'iss': 'i'})}.",
        f"{part({**GOOD_HEADER, 'kid': 'x' * 257})}.{part({'iss': 'i'})}.",
        f"{part(GOOD_HEADER)}+.{part({'iss': 'i'})}.",
        f"{part(GOOD_HEADER)}.{part({'iss': 'i'})}ü.",
        "\ud800.a.b",
    ],
)
def test_what_is_no_token_is_refused_before_any_key_is_looked_for(token: str) -> None:
    with pytest.raises(TokenInvalid):
        peek(token)


@pytest.mark.parametrize("size", [8 * 1024 + 1, 50_000, 1_000_000])
def test_a_token_over_eight_kilobytes_is_refused_unread(size: int) -> None:
    good = f"{part(GOOD_HEADER)}.{part({'iss': 'i'})}."
    with pytest.raises(TokenInvalid) as caught:
        peek(good + "A" * (size - len(good)))
    assert caught.value.reason == "too_large"


@given(st.text(max_size=200))
def test_no_text_whatever_raises_anything_else(token: str) -> None:
    with pytest.raises(TokenInvalid):
        peek(token)
