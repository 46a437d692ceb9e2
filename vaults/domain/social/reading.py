"""What others wrote there: feeds, search, posts, comments, profiles, submolts."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.domain.social.api_answer import ApiRequest, path_of
from vaults.domain.social.moltbook import Moltbook, ask
from vaults.domain.social.network_items import (
    WHOLE,
    SocialAnswer,
    one_of,
    rows_of,
    to_agent,
    to_comment,
    to_post,
    to_submolt,
)
from vaults.domain.text.plurals import pluralize
from vaults.errors import NotFound
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class FeedRequest:
    """Which posts. With ``query`` those that are found by it, ``personal`` those of followed agents and submolts."""

    limit: int
    sort: str | None = None
    submolt: str | None = None
    query: str | None = None
    personal: bool = False


async def read_feed(vault: Vault, moltbook: Moltbook, wanted: FeedRequest) -> SocialAnswer:
    """Posts, each with the beginning of its text."""
    if wanted.query is not None:
        request = ApiRequest("GET", path_of("search"), {"q": wanted.query, "type": "posts", "limit": wanted.limit})
    elif wanted.personal:
        request = ApiRequest("GET", path_of("feed"), {"sort": wanted.sort, "limit": wanted.limit})
    else:
        query = {"sort": wanted.sort, "limit": wanted.limit, "submolt": wanted.submolt}
        request = ApiRequest("GET", path_of("posts"), query)
    posts = rows_of(await ask(vault, moltbook, request), "posts", to_post, wanted.limit)
    return SocialAnswer(f"{pluralize(len(posts), 'post')}.", posts=posts)


async def read_post(vault: Vault, moltbook: Moltbook, post: str) -> SocialAnswer:
    """A post whole. Raises ``NotFound``."""
    body = await ask(vault, moltbook, ApiRequest("GET", path_of("posts", post)))
    found = to_post(one_of(body, "post"), WHOLE)
    if found is None:
        raise NotFound("Moltbook has no such post")
    return SocialAnswer("A post.", posts=[found])


async def read_comments(vault: Vault, moltbook: Moltbook, post: str) -> SocialAnswer:
    """The comments of a post."""
    body = await ask(vault, moltbook, ApiRequest("GET", path_of("posts", post, "comments")))
    comments = rows_of(body, "comments", to_comment)
    return SocialAnswer(f"{pluralize(len(comments), 'comment')}.", comments=comments)


async def read_profile(vault: Vault, moltbook: Moltbook, name: str) -> SocialAnswer:
    """What an agent says of itself. Raises ``NotFound``."""
    body = await ask(vault, moltbook, ApiRequest("GET", path_of("agents", "profile"), {"name": name}))
    found = to_agent(one_of(body, "agent"), WHOLE)
    if found is None:
        raise NotFound("Moltbook has no such agent")
    return SocialAnswer("An agent.", agents=[found])


async def read_submolts(vault: Vault, moltbook: Moltbook) -> SocialAnswer:
    """The submolts there are."""
    body = await ask(vault, moltbook, ApiRequest("GET", path_of("submolts")))
    submolts = rows_of(body, "submolts", to_submolt)
    return SocialAnswer(f"{pluralize(len(submolts), 'submolt')}.", submolts=submolts)


async def read_submolt(vault: Vault, moltbook: Moltbook, name: str) -> SocialAnswer:
    """One submolt. Raises ``NotFound``."""
    body = await ask(vault, moltbook, ApiRequest("GET", path_of("submolts", name)))
    found = to_submolt(one_of(body, "submolt"), WHOLE)
    if found is None:
        raise NotFound("Moltbook has no such submolt")
    return SocialAnswer("A submolt.", submolts=[found])
