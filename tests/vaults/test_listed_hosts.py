"""Only listed hosts are asked, in whatever way an address is written, and only where their names lead outside."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaults.listed_hosts import ListedHosts, WebRefused, is_public, parse_address, parse_pattern

HOSTS = ListedHosts(("docs.example.org", "*.wiki.example", "10.0.0.5:8080", "::1", "any.example:*"))


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example.org",
        "HTTPS://Docs.Example.Org./a/b?c=d#e",
        "http://docs.example.org/",
        "https://one.wiki.example/",
        "https://a.b.wiki.example/",
        "http://10.0.0.5:8080/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://any.example:9/",
    ],
)
def test_a_listed_host_passes(url: str) -> None:
    HOSTS.check(parse_address(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://docs.example.org.evil.example/",
        "https://evildocs.example.org/",
        "https://docs.example.org:8443/",
        "https://wiki.example/",
        "https://evilwiki.example/",
        "http://10.0.0.5/",
        "http://10.0.0.5:8081/",
        "http://[::2]/",
        "http://[::ffff:10.0.0.5]:8080/",
        "http://127.0.0.1/",
        "http://localhost/",
    ],
)
def test_a_host_that_is_not_listed_is_refused(url: str) -> None:
    with pytest.raises(WebRefused, match="does not list"):
        HOSTS.check(parse_address(url))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://docs.example.org/",
        "file:///etc/passwd",
        "docs.example.org",
        "https:///path",
        "https://user:pass@docs.example.org/",
        "https://docs.example.org@evil.example/",
        "https://docs.example.org\\@evil.example/",
        "https://docs.example.org /",
        "https://docs.example.org\r\nHost: evil/",
        "http://167772165:8080/",
        "http://0x0a000005:8080/",
        "http://012.0.0.5:8080/",
        "http://10.5:8080/",
        "http://10.0.0.0x5:8080/",
        "http://１０.0.0.05:8080/",
        "http://[::1%25eth0]/",
        "http://docs..example.org/",
        "https://docs.example.org:99999/",
        f"https://docs.example.org/{'a' * 3000}",
    ],
)
def test_an_address_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(WebRefused):
        parse_address(url)


def test_a_host_in_another_script_is_the_name_it_stands_for() -> None:
    assert parse_address("https://ｄｏｃｓ.example.org/").host == "docs.example.org"
    assert parse_address("https://bücher.example/").host == "xn--bcher-kva.example"


def test_what_is_asked_is_what_was_checked() -> None:
    address = parse_address("http://any.example:9/a b".replace(" ", "%20") + "?q=ü#part")
    assert address.url == "http://any.example:9/a%20b?q=%C3%BC"
    assert (address.authority, parse_address("http://[::1]:81/x").authority) == ("any.example:9", "[::1]:81")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fc00::1", "ff02::1", "::ffff:8.8.8.8",
        "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_inside_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
    with pytest.raises(WebRefused, match="not public"):
        ListedHosts(("docs.example.org",)).check_reached("docs.example.org", ["93.184.216.34", address])


def test_a_name_may_lead_to_an_address_that_is_listed_itself() -> None:
    assert HOSTS.check_reached("docs.example.org", ["10.0.0.5"]) == ["10.0.0.5"]
    assert HOSTS.check_reached("docs.example.org", ["93.184.216.34", "2606:2800:21f::1"])[0] == "93.184.216.34"
    with pytest.raises(WebRefused, match="no address"):
        HOSTS.check_reached("docs.example.org", [])


@pytest.mark.parametrize("pattern", ["", "*", "*.org", "a b", "https://a.example", "2130706433", "0x7f.1", "a:0"])
def test_a_pattern_that_is_too_wide_or_none_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"has|must be"):
        parse_pattern(pattern)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["{}", "0x{:x}", "0{:o}", "0X{:X}"]))
def test_no_address_passes_as_one_number(number: int, form: str) -> None:
    host = form.format(number)
    with pytest.raises(WebRefused):
        ListedHosts((str(ip_address(number)), "*.example.org")).check(parse_address(f"http://{host}/"))


@given(st.text(max_size=60))
def test_any_text_is_either_refused_or_an_address_of_its_own(text: str) -> None:
    try:
        address = parse_address(f"http://{text}")
    except WebRefused:
        return
    assert parse_address(address.url) == address
