"""The account of a vault: registering, logging in, who it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vaults.domain.actors import Actor
from vaults.domain.social.api_answer import ApiRequest, path_of
from vaults.domain.social.moltbook import UNKNOWN, Moltbook, ask, has_key, store_key
from vaults.domain.social.network_items import (
    WHOLE,
    SocialAgent,
    SocialAnswer,
    claim_address,
    one_of,
    to_agent,
    to_code,
    to_name,
    withhold,
)
from vaults.errors import Conflict, InvalidArgument, Overloaded, StrongroomError
from vaults.vault import Vault

CHECK_S = 5.0
"""Seconds for finding out whether a key is accepted."""

LONGEST_KEY = 500

_ME = ApiRequest("GET", path_of("agents", "me"))


@dataclass(frozen=True, slots=True)
class Profile:
    """What an agent says of itself; None: nothing."""

    display_name: str | None = None
    bio: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        """As the network takes it. What it calls description, others of its versions call bio."""
        return {"display_name": self.display_name, "bio": self.bio, "description": self.bio}


async def register(vault: Vault, moltbook: Moltbook, actor: Actor, name: str, profile: Profile) -> SocialAnswer:
    """Make an account and keep its key. Raises ``Conflict`` where the vault has one whose key is accepted: nobody could
    use that account any more."""
    vault.check_writable()
    await moltbook.cipher.prepare()  # a key that cannot be kept is an account that is lost
    known = await has_key(vault, moltbook)
    if known is not None:
        found = await moltbook.endpoint.send(vault.entry.vault_id, _ME, known, CHECK_S)
        if not found.refuses_key:
            raise Conflict("this vault has an account already", hint="log in with the API key of another one to change")
    request = ApiRequest("POST", path_of("agents", "register"), body={"name": name, **profile.body})
    answer = await moltbook.endpoint.send(vault.entry.vault_id, request, None)
    body = answer.require_ok()
    api_key = _find_key(body)
    if api_key is None:
        raise Overloaded("Moltbook answered without an API key: nothing was stored")
    await store_key(vault, moltbook, actor, api_key)
    safe = withhold(answer, api_key).body
    made = one_of(safe, "agent")
    return SocialAnswer(
        f"Registered as {to_name(name)}. API key stored securely.",
        authenticated=True,
        agents=_agents(made, name),
        claim_url=claim_address(made, moltbook.endpoint.url),
        verification_code=to_code(made.get("verification_code")),
    )


async def log_in(vault: Vault, moltbook: Moltbook, actor: Actor, api_key: str) -> SocialAnswer:
    """Keep a key that the network accepts, in place of the one before."""
    if not is_sendable(api_key):
        raise InvalidArgument("api_key", "must be letters, digits and marks of ASCII, without blanks")
    vault.check_writable()
    await moltbook.cipher.prepare()
    answer = withhold(await moltbook.endpoint.send(vault.entry.vault_id, _ME, api_key), api_key)
    agent = one_of(answer.require_ok(), "agent")
    await store_key(vault, moltbook, actor, api_key)
    return SocialAnswer(
        f"Logged in as {to_name(agent.get('name'))}. API key stored securely.",
        authenticated=True,
        agents=_agents(agent),
    )


async def check_status(vault: Vault, moltbook: Moltbook) -> SocialAnswer:
    """Whether the network accepts the stored key now. Whatever it says, the key is kept."""
    api_key = await has_key(vault, moltbook)
    if api_key is None:
        return SocialAnswer(f"{UNKNOWN}.", authenticated=False)
    try:
        answer = await moltbook.endpoint.send(vault.entry.vault_id, _ME, api_key, CHECK_S)
    except StrongroomError as failure:
        return SocialAnswer(f"Moltbook: {failure.message}; the stored token is kept", authenticated=False)
    if not answer.ok:
        return SocialAnswer(
            f"Moltbook: stored token not currently valid (status {answer.status}), keeping for retry",
            authenticated=False,
        )
    agent = one_of(withhold(answer, api_key).body, "agent")
    return SocialAnswer(
        f"Moltbook: authenticated as {to_name(agent.get('name'))}", authenticated=True, agents=_agents(agent)
    )


async def update_profile(vault: Vault, moltbook: Moltbook, profile: Profile) -> SocialAnswer:
    """Change what the account says of itself."""
    if profile == Profile():
        raise InvalidArgument("display_name", "or description is needed: what to change")
    body = await ask(vault, moltbook, ApiRequest("PATCH", path_of("agents", "me"), body=profile.body))
    return SocialAnswer("Profile updated.", agents=_agents(one_of(body, "agent")))


def is_sendable(api_key: str) -> bool:
    """Whether it can stand in a header: anything else could end the line."""
    return 0 < len(api_key) <= LONGEST_KEY and all("!" <= each <= "~" for each in api_key)


def _agents(given: Mapping[str, Any], name: str | None = None) -> list[SocialAgent]:
    agent = to_agent({"name": name, **given}, WHOLE)
    return [] if agent is None else [agent]


def _find_key(body: Any) -> str | None:
    places = (body, one_of(body, "agent"))
    keys = (each.get("api_key") for each in places if isinstance(each, Mapping))
    return next((each for each in keys if isinstance(each, str) and is_sendable(each)), None)
