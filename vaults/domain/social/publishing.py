"""Posts and comments: what leaves the vault, and is seen by everybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.secrets import redaction
from vaults.domain.social import sent_items
from vaults.domain.social.api_answer import ApiRequest, path_of
from vaults.domain.social.moltbook import Moltbook, ask, read_key
from vaults.domain.social.network_items import WHOLE, SocialAnswer, one_of, to_comment, to_post
from vaults.errors import InvalidArgument, StrongroomError, Timeout
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class PostDraft:
    """A post to make."""

    title: str
    content: str
    submolt: str | None = None


@dataclass(frozen=True, slots=True)
class CommentDraft:
    """A comment to make on a post, or there on another comment."""

    post: str
    content: str
    parent: str | None = None


async def create_post(vault: Vault, moltbook: Moltbook, draft: PostDraft) -> SocialAnswer:
    """Post it. Raises ``Conflict`` for a duplicate, ``RateLimited``, and ``InvalidArgument`` for a secret in it."""
    vault.check_writable()
    await _refuse_secrets(vault, moltbook, {"title": draft.title, "content": draft.content})
    request = ApiRequest(
        "POST",
        path_of("posts"),
        body={"title": draft.title, "content": draft.content, "submolt": draft.submolt or sent_items.DEFAULT_SUBMOLT},
    )

    def reserve(tx: Writer) -> int:
        return sent_items.reserve_post(tx, draft.submolt, draft.title, draft.content, moltbook.now())

    body = await _send(vault, moltbook, request, reserve)
    post = to_post(one_of(body, "post"), WHOLE)
    return SocialAnswer("Post created.", posts=[] if post is None else [post])


async def create_comment(vault: Vault, moltbook: Moltbook, draft: CommentDraft) -> SocialAnswer:
    """Comment. Raises ``RateLimited``, and ``InvalidArgument`` for a secret in it."""
    vault.check_writable()
    await _refuse_secrets(vault, moltbook, {"content": draft.content})
    request = ApiRequest(
        "POST", path_of("posts", draft.post, "comments"), body={"content": draft.content, "parent_id": draft.parent}
    )
    body = await _send(vault, moltbook, request, lambda tx: sent_items.reserve_comment(tx, moltbook.now()))
    comment = to_comment(one_of(body, "comment"), WHOLE)
    return SocialAnswer("Comment posted.", comments=[] if comment is None else [comment])


async def delete_post(vault: Vault, moltbook: Moltbook, post: str) -> SocialAnswer:
    """Delete a post of the account's own. The guard against duplicates still knows it."""
    await ask(vault, moltbook, ApiRequest("DELETE", path_of("posts", post)))
    return SocialAnswer("Post deleted.")


async def _send(vault: Vault, moltbook: Moltbook, request: ApiRequest, reserve: Callable[[Writer], int]) -> Any:
    """Send it under a reservation, which is taken back if the network refused. Where nobody knows, because it timed out
    or the caller went away, the reservation stays: a second post is worse than a blocked one."""
    number = await vault.db.write(reserve)
    try:
        return await ask(vault, moltbook, request)
    except Timeout:
        raise
    except StrongroomError:
        await vault.db.write(lambda tx: sent_items.take_back(tx, number))
        raise


async def _refuse_secrets(vault: Vault, moltbook: Moltbook, texts: dict[str, str]) -> None:
    """A secret that is published is lost, so it is refused even where memories may hold some; first of all the key this
    very account is kept by."""
    api_key = await read_key(vault, moltbook)
    for name, text in texts.items():
        if api_key in text:
            raise InvalidArgument(name, "holds the API key of this vault's account")
    strict = vault.shared.hygiene.model_copy(update={"secrets": "refuse"})
    await run_in(vault.shared.pool, redaction.refuse_or_redact, texts, strict)
