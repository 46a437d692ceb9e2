"""What is refused as a secret, what is not, and that looking for them is never slow.

Covers vaults.domain.secrets.assignments.
"""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vaults.domain.secrets.texts import HEX, ORDINARY, PEM_BODY, SECRETS, made
from tests.work import assert_linear
from vaults.domain.secrets.redaction import find_secrets, redact, refuse_or_redact, secret_warnings
from vaults.errors import InvalidArgument
from vaults.settings import HygieneSettings

REFUSE, REDACT, OFF = (HygieneSettings(secrets=mode) for mode in ("refuse", "redact", "off"))  # type: ignore[arg-type]
TOKEN = "ghp_" + made(36)


def test_what_developers_write_is_no_secret() -> None:
    assert {text: found for text in ORDINARY if (found := [each.kind for each in find_secrets(text)])} == {}


def test_a_secret_is_found_and_named() -> None:
    assert [(text, [each.kind for each in find_secrets(text)]) for _, text in SECRETS] == [
        (text, [kind]) for kind, text in SECRETS
    ]


def test_a_secret_is_found_in_the_middle_of_prose() -> None:
    for kind, text in SECRETS:
        around = f"Notes of the day.\n\nFor the staging server:\n{text}\nThat was all, see you tomorrow."
        assert [each.kind for each in find_secrets(around)] == [kind], text


def test_nothing_of_a_secret_is_left_once_it_is_taken_out() -> None:
    for kind, text in SECRETS:
        clean, found = redact(text)
        assert f"[redacted: {kind}]" in clean, text
        assert all(text[each.start : each.end] not in clean for each in found), text
        assert find_secrets(clean) == [], text


def test_a_refusal_names_kind_field_and_line_and_never_the_secret() -> None:
    with pytest.raises(InvalidArgument) as failure:
        refuse_or_redact({"title": "CI", "content": f"one\ntwo\ntoken {TOKEN}"}, REFUSE)
    assert failure.value.details == {"field": "content"}
    assert "a GitHub token (line 3)" in failure.value.message
    assert TOKEN[4:] not in f"{failure.value.message}{failure.value.hint}{failure.value.details}"


@pytest.mark.parametrize(
    "fields",
    [
        {"tags": ["ci", TOKEN]},
        {"metadata": {"a": [{"b": {"c": TOKEN}}]}},
        {"metadata": {TOKEN: 1}},
        {"metadata": {"db": {"password": "kT9zQ4mW"}}},
        {"metadata": {"apiKey": made(32, HEX)}},
        {"entity": TOKEN},
        {"keywords": (TOKEN,)},
    ],
)
def test_every_field_is_looked_through(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(fields))):
        refuse_or_redact(fields, REFUSE)
    kept = refuse_or_redact(fields, REDACT)
    assert "redacted: " in str(kept.fields)
    assert TOKEN not in str(kept.fields)
    assert kept.warnings
    assert refuse_or_redact(fields, OFF).fields == fields


def test_every_secret_is_found_wherever_a_field_holds_it() -> None:
    for kind, text in SECRETS:
        nested = {"a": [{"b": text}]}, {text: 1}, [("x", text)], MappingProxyType({"a": MappingProxyType({"b": text})})
        for value in (text, *nested):
            with pytest.raises(InvalidArgument, match=kind):
                refuse_or_redact({"title": "plain", "none": None, "number": 1, "metadata": value}, REFUSE)


def test_fields_without_a_secret_come_back_as_they_are() -> None:
    fields = {"content": "plain", "tags": ["a"], "confidence": 0.5, "metadata": {"password": 7, "token": None}}
    assert refuse_or_redact(fields, REDACT).fields == fields
    assert refuse_or_redact(fields, REDACT).warnings == []


def test_an_identifier_is_refused_where_texts_are_redacted() -> None:
    """Two different tokens would become one and the same external id."""
    with pytest.raises(InvalidArgument, match="external_id"):
        refuse_or_redact({"external_id": TOKEN}, REDACT)


def test_of_a_note_secrets_are_only_told() -> None:
    assert secret_warnings({"content": f"x\n{TOKEN}"}, REFUSE) == [
        "content holds what looks like a secret: a GitHub token (line 2)"
    ]
    assert secret_warnings({"content": TOKEN}, OFF) == []


def test_a_key_in_armour_goes_whole() -> None:
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"
    assert redact(f"before\n{key}\nafter")[0] == "before\n[redacted: private key]\nafter"


NEAR_MISSES = [
    "ghp_", "eyJ", "-eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "password=",
    "password", "password = ", "a://b:", "://", "a://:@", "sk-", "sk-proj-", "glpat-", "glpat-a.", "xoxb-", "xoxb-a",
    "AKIA", "AIza", "ya29.a", "bearer ", "Authorization: Basic ", "token:token=", "123456789:AA", "SG.",
    "hooks.slack.com/services/", "whsec_", "a", "AccountKey=", "pypi-AgE", "secret is \"", "hvs.", "sntrys_", "glc_",
]  # fmt: skip


@pytest.mark.parametrize("near", NEAR_MISSES)
def test_near_misses_by_the_hundred_thousand_take_no_longer_than_prose(near: str) -> None:
    assert_linear(find_secrets, lambda size: (near * size)[:size], 20_000)


@given(st.text(max_size=400))
def test_any_text_can_be_cleaned_and_then_is_clean(text: str) -> None:
    clean, found = redact(text)
    assert (clean == text) == (not found)
    assert find_secrets(clean) == [] or found


@given(st.lists(st.sampled_from([text for _, text in SECRETS]), min_size=1, max_size=4), st.text(max_size=40))
def test_no_secret_hides_behind_another_text(secrets: list[str], between: str) -> None:
    text = f"\n{between}\n".join(secrets)
    clean, _ = redact(text)
    for secret in secrets:
        assert secret not in clean
