"""Pages are read from listed hosts alone, within bounds, and asked for again only where they changed.

Covers vaults.web.page_fetch, vaults.web.pinned_connections and vaults.web.robots with servers on this machine.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from tests.web_sites import Answer, Site, serving
from vaults.listed_hosts import ListedHosts, parse_address
from vaults.web.page_fetch import PageFailed, PageFetcher, PageLimits, PageVersion
from vaults.web.robots import KEPT_S, RobotsCache


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as found:
        yield found


@asynccontextmanager
async def fetching(
    *hosts: str, resolver: dict[str, Sequence[str]] | None = None, size: int = 10_000, seconds: float = 20.0
) -> AsyncIterator[PageFetcher]:
    async def look(host: str, _: int) -> Sequence[str]:
        return (resolver or {}).get(host, [host])

    fetcher = PageFetcher(ListedHosts(hosts), PageLimits(size, seconds), look)
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def failure(fetcher: PageFetcher, url: str) -> PageFailed:
    with pytest.raises(PageFailed) as raised:
        await fetcher.fetch(url)
    return raised.value


async def test_a_page_comes_with_its_type_and_version_and_is_asked_for_again_only_if_it_changed(site: Site) -> None:
    def page(headers: dict[str, str]) -> Answer:
        same = headers.get("if-none-match") == '"1"'
        return (304, {}, b"") if same else (200, {"content-type": "text/html; charset=utf-8", "etag": '"1"'}, b"<p>Hi")

    site.pages["/guide"] = page
    async with fetching("127.0.0.1:*") as fetcher:
        first = await fetcher.fetch(f"http://127.0.0.1:{site.port}/guide#part")
        assert (first.data, first.mime, first.name) == (b"<p>Hi", "text/html", "guide.html")
        assert first.version == PageVersion('"1"', None)
        again = await fetcher.fetch(first.url, first.version)
        assert (again.data, again.version) == (None, first.version)
    assert site.targets == ["/robots.txt", "/guide", "/guide"]
    assert site.asked[1][1]["host"] == f"127.0.0.1:{site.port}"
    assert site.asked[1][1]["user-agent"] == "strongroom"


async def test_a_listed_name_is_asked_at_the_address_it_led_to_when_it_was_looked_at(site: Site) -> None:
    site.pages["/"] = (200, {}, b"hello")
    answers = iter([["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]])  # the name changes its mind after the page

    async def rebinding(host: str, port: int) -> Sequence[str]:
        assert (host, port) == ("docs.example.org", site.port)
        return next(answers)

    fetcher = PageFetcher(ListedHosts(("docs.example.org:*", "127.0.0.1")), PageLimits(1000, 5.0), rebinding)
    url = f"http://docs.example.org:{site.port}/"
    assert (await fetcher.fetch(url)).data == b"hello"
    assert {headers["host"] for _, headers in site.asked} == {f"docs.example.org:{site.port}"}
    await fetcher.close()
    assert (await failure(fetcher, url)).problem == "refused"
    await fetcher.close()
    assert len(site.asked) == 2


async def test_a_listed_name_that_leads_inside_is_refused(site: Site) -> None:
    async with fetching("docs.example.org:*", resolver={"docs.example.org": ["127.0.0.1"]}) as fetcher:
        refused = await failure(fetcher, f"http://docs.example.org:{site.port}/")
    assert (refused.problem, site.asked) == ("refused", [])
    assert "not public" in refused.message
    assert "127.0.0.1" not in refused.message


async def test_redirects_are_followed_among_listed_hosts_and_no_further(site: Site) -> None:
    async with serving() as inside, fetching(f"127.0.0.1:{site.port}") as fetcher:
        inside.pages["/secret"] = (200, {}, b"secret")
        site.pages |= {
            "/old": (301, {"location": "/new"}, b""),
            "/new": (200, {}, b"here"),
            "/out": (302, {"location": f"http://127.0.0.1:{inside.port}/secret"}, b""),
            "/file": (302, {"location": "file:///etc/passwd"}, b""),
            "/number": (302, {"location": f"http://2130706433:{site.port}/new"}, b""),
            "/round": (302, {"location": "/round"}, b""),
        }
        base = f"http://127.0.0.1:{site.port}"
        found = await fetcher.fetch(f"{base}/old")
        assert (found.data, found.url) == (b"here", f"{base}/new")
        problems = [(await failure(fetcher, f"{base}/{each}")).problem for each in ("out", "file", "number", "round")]
        assert problems == ["refused", "refused", "refused", "failed"]
        assert site.targets.count("/round") == 6
        assert inside.asked == []


async def test_an_address_of_the_new_kind_is_listed_and_asked_like_any_other() -> None:
    async with serving("::1") as site, fetching("[::1]:*") as fetcher:
        site.pages["/"] = (200, {}, b"six")
        assert (await fetcher.fetch(f"http://[::1]:{site.port}/")).data == b"six"
        assert (await failure(fetcher, f"http://[::ffff:7f00:1]:{site.port}/")).problem == "refused"


async def test_what_robots_txt_closes_is_not_asked_for(site: Site) -> None:
    site.pages |= {"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /private\n"), "/open": (200, {}, b"open")}
    site.pages["/to-private"] = (302, {"location": "/private/page"}, b"")
    async with fetching("127.0.0.1:*") as fetcher:
        base = f"http://127.0.0.1:{site.port}"
        assert (await fetcher.fetch(f"{base}/open")).data == b"open"
        assert (await failure(fetcher, f"{base}/private/page")).problem == "robots"
        assert (await failure(fetcher, f"{base}/to-private")).problem == "robots"
    assert site.targets == ["/robots.txt", "/open", "/to-private"]


@pytest.mark.parametrize("status", [500, 503])
async def test_a_site_whose_robots_txt_cannot_be_read_is_left_alone(site: Site, status: int) -> None:
    site.pages["/robots.txt"] = (status, {}, b"")
    async with fetching("127.0.0.1:*") as fetcher:
        assert (await failure(fetcher, f"http://127.0.0.1:{site.port}/x")).problem == "robots"
    assert site.targets == ["/robots.txt"]


async def test_robots_txt_leads_nowhere_that_is_not_listed(site: Site) -> None:
    async with serving() as inside, fetching(f"127.0.0.1:{site.port}") as fetcher:
        site.pages["/robots.txt"] = (302, {"location": f"http://127.0.0.1:{inside.port}/robots.txt"}, b"")
        assert (await failure(fetcher, f"http://127.0.0.1:{site.port}/x")).problem == "refused"
        assert inside.asked == []


async def test_a_body_beyond_the_bound_is_not_read_to_its_end(site: Site) -> None:
    chunks = b"".join(b"3e8\r\n" + b"x" * 1000 + b"\r\n" for _ in range(50))
    site.pages |= {
        "/declared": (200, {"content-length": str(10**12)}, b"x"),
        "/chunked": (200, {"transfer-encoding": "chunked"}, chunks),
        "/packed": (200, {"content-encoding": "gzip"}, b"x"),
    }
    async with fetching("127.0.0.1:*") as fetcher:
        base = f"http://127.0.0.1:{site.port}"
        problems = [(await failure(fetcher, f"{base}/{each}")).problem for each in ("declared", "chunked", "packed")]
    assert problems == ["too_large", "too_large", "failed"]


async def test_a_page_that_never_comes_ends_in_time(site: Site) -> None:
    site.hangs = "/slow"
    async with fetching("127.0.0.1:*", seconds=0.2) as fetcher:
        assert (await failure(fetcher, f"http://127.0.0.1:{site.port}/slow")).problem == "timeout"


async def test_what_is_gone_broken_or_silent_is_said(site: Site) -> None:
    site.pages |= {"/gone": (410, {}, b""), "/broken": (500, {}, b""), "/odd": (304, {}, b"")}
    async with fetching("127.0.0.1:*") as fetcher:
        base = f"http://127.0.0.1:{site.port}"
        problems = [(await failure(fetcher, f"{base}/{each}")).problem for each in ("gone", "broken", "odd")]
        assert problems == ["gone", "failed", "failed"]
        async with serving() as closed:
            port = closed.port
        assert (await failure(fetcher, f"http://127.0.0.1:{port}/")).problem == "unreachable"
        assert (await failure(fetcher, "gopher://127.0.0.1/")).problem == "refused"


def test_rules_of_a_site_are_read_again_after_a_while() -> None:
    now = 0.0
    cache, address = RobotsCache(lambda: now), parse_address("https://docs.example.org/x")
    assert cache.keep(address, b"User-agent: strongroom\nDisallow: /x").allows(address.url) is False
    assert cache.find(address) is not None
    now = KEPT_S
    assert cache.find(address) is None
