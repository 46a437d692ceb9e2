"""What an account does besides posting: votes, follows, subscriptions, and submolts that it makes."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.domain.social.api_answer import ApiRequest, path_of
from vaults.domain.social.moltbook import Moltbook, ask
from vaults.domain.social.network_items import WHOLE, SocialAnswer, one_of, to_name, to_submolt
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Reaction:
    """A call that takes one id or name and answers with a sentence."""

    method: str
    before: str  # segments of the path before the id or name, and after it
    after: str
    done: str


REACTIONS = {
    "upvote_post": Reaction("POST", "posts", "upvote", "Post upvoted."),
    "downvote_post": Reaction("POST", "posts", "downvote", "Post downvoted."),
    "upvote_comment": Reaction("POST", "comments", "upvote", "Comment upvoted."),
    "follow": Reaction("POST", "agents", "follow", "Now following {}."),
    "unfollow": Reaction("DELETE", "agents", "follow", "Unfollowed {}."),
    "subscribe": Reaction("POST", "submolts", "subscribe", "Subscribed to {}."),
    "unsubscribe": Reaction("DELETE", "submolts", "subscribe", "Unsubscribed from {}."),
}


async def react(vault: Vault, moltbook: Moltbook, action: str, target: str) -> SocialAnswer:
    """Do it. ``action`` is one of ``REACTIONS``."""
    reaction = REACTIONS[action]
    await ask(vault, moltbook, ApiRequest(reaction.method, path_of(reaction.before, target, reaction.after)))
    return SocialAnswer(reaction.done.format(to_name(target)))


async def create_submolt(vault: Vault, moltbook: Moltbook, name: str, description: str) -> SocialAnswer:
    """Make a submolt, which the account then owns."""
    given = {"name": name, "display_name": name, "description": description}
    body = await ask(vault, moltbook, ApiRequest("POST", path_of("submolts"), body=given))
    submolt = to_submolt(one_of(body, "submolt"), WHOLE)
    return SocialAnswer(f"Submolt '{to_name(name)}' created.", submolts=[] if submolt is None else [submolt])
