"""MoltMind's seven social tools over HTTP, against a network that behaves as its documentation says.

Covers server.toolsets.moltmind_social.
"""

from __future__ import annotations

import json

import pytest
import pytest_asyncio

from auth.roles import Role
from server.mcp_bridge.catalogue import ToolCatalogue
from server.settings import ENDPOINTS
from server.tools import discover
from server.toolsets.moltmind_social import SOCIAL_TOOLS
from server.toolsets.registry import find_old_tool, required_role, toolset_of
from tests.moltbook import KEY, always, failed, moltbook
from tests.server.http.serving import raw, served
from tests.server.toolsets.scripts import ANY, Step, call, listing, run_script
from tests.server.toolsets.test_serving import asker, fits, granted, odd_values, writer
from vaults.search import tokenizer

NAMES = [each.name for each in SOCIAL_TOOLS]
over_http = pytest.mark.asyncio(loop_scope="session")

AGENT = {"name": "gull", "bio": "A wader", "display_name": str, "karma": int, "followers": int, "following": int,
         "flags": []}  # fmt: skip
POST = {"id": "p2", "title": "Tides", "author": "gull", "submolt": "general", "content": "High water at nine",
        "upvotes": 0, "downvotes": 0, "comments": 0, "created_at": str, "flags": []}  # fmt: skip
REEDS = POST | {"id": "p1", "title": "Reeds", "author": "heron", "content": "They grow", "created_at": str}
COMMENT = {"id": "c1", "author": "gull", "content": "True", "upvotes": 0, "flags": []}
SUBMOLT = {"name": str, "display_name": str, "description": str, "subscribers": int, "flags": []}

DAY = [
    Step("mb_auth", {"action": "status"},
         {"success": True, "authenticated": False, "message": "Not authenticated: register or log in first."}),
    Step("mb_auth", {"action": "register", "username": "gull", "display_name": "Gull", "bio": "A bird"},
         {"success": True, "message": "Registered as gull. API key stored securely.", "agent": ANY,
          "claim_url": str, "verification_code": "reef-X4B2"}),
    Step("mb_auth", {"action": "update_profile", "bio": "A wader"},
         {"success": True, "message": "Profile updated.", "agent": AGENT}),
    Step("mb_auth", {"action": "status"},
         {"success": True, "authenticated": True, "message": "Moltbook: authenticated as gull", "username": "gull",
          "agent": AGENT}),
    Step("mb_post", {"action": "create", "title": "Tides", "content": "High water at nine"},
         {"success": True, "message": "Post created.", "post": POST}),
    Step("mb_post", {"action": "get", "id": "p2"}, {"success": True, "post": POST}),
    Step("mb_feed", {"action": "browse", "sort": "new", "limit": 10, "submolt": "general"},
         {"success": True, "posts": [ANY], "count": 2}),
    Step("mb_feed", {"action": "personal"}, {"success": True, "posts": [], "count": 0}),
    Step("mb_social", {"action": "follow", "name": "heron"}, {"success": True, "message": "Now following heron."}),
    Step("mb_feed", {"action": "personal"}, {"success": True, "posts": [REEDS], "count": 1}),
    Step("mb_feed", {"action": "search", "query": "Tides"}, {"success": True, "posts": [POST], "count": 1}),
    Step("mb_social", {"action": "profile", "name": "heron"},
         {"success": True, "agent": AGENT | {"name": "heron", "bio": ""}}),
    Step("mb_social", {"action": "unfollow", "name": "heron"}, {"success": True, "message": "Unfollowed heron."}),
    Step("mb_comment", {"action": "create", "post_id": "p2", "content": "True"},
         {"success": True, "message": "Comment posted.", "comment": COMMENT}),
    Step("mb_comment", {"action": "list", "post_id": "p2"}, {"success": True, "comments": [COMMENT], "count": 1}),
    Step("mb_vote", {"action": "upvote_post", "post_id": "p2"}, {"success": True, "message": "Post upvoted."}),
    Step("mb_vote", {"action": "downvote_post", "post_id": "p2"}, {"success": True, "message": "Post downvoted."}),
    Step("mb_vote", {"action": "upvote_comment", "comment_id": "c1"},
         {"success": True, "message": "Comment upvoted."}),
    Step("mb_submolt", {"action": "create", "name": "birds", "description": "Of birds"},
         {"success": True, "message": "Submolt 'birds' created.", "submolt": SUBMOLT}),
    Step("mb_submolt", {"action": "list"}, {"success": True, "submolts": [SUBMOLT], "count": 2}),
    Step("mb_submolt", {"action": "get", "name": "birds"},
         {"success": True, "submolt": SUBMOLT | {"description": "Of birds"}}),
    Step("mb_submolt", {"action": "subscribe", "name": "birds"}, {"success": True, "message": "Subscribed to birds."}),
    Step("mb_submolt", {"action": "unsubscribe", "name": "birds"},
         {"success": True, "message": "Unsubscribed from birds."}),
    Step("mb_post", {"action": "delete", "id": "p2", "confirmed": True}, {"success": True, "message": "Post deleted."}),
]  # fmt: skip


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def network():
    async with moltbook() as running:
        running.posts.append(
            {"id": "p1", "author": {"name": "heron"}, "title": "Reeds", "content": "They grow",
             "submolt": {"name": "general"}, "created_at": "2026-01-04T10:00:00Z"}
        )  # fmt: skip
        yield running


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(tmp_path_factory, network):
    async def prepare(ground):
        return {role.label: await ground.token(role.label, role, "*") for role in Role}

    folder = tmp_path_factory.mktemp("social")
    vaults = ("moltmind", "empty")
    async with served(folder, vaults=vaults, prepare=prepare, **{"social.moltbook.url": network.url}) as running:
        yield running


@over_http
async def test_a_day_of_documented_calls(site, network):
    await run_script(site, "moltmind", DAY)
    assert network.votes == [("upvote", "p2"), ("downvote", "p2"), ("upvote", "c1")]
    assert (network.following, network.subscribed) == (set(), set())
    comment = network.asked("POST", "/posts/p2/comments")[0]
    assert comment.body == {"content": "True"}
    key = next(each for each in network.agents if "gull" in each)
    assert comment.headers["authorization"] == f"Bearer {key}"


async def told(site, tool, arguments, **more):
    answer = await call(site, "moltmind", tool, arguments, **more)
    assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
    return answer["structuredContent"]


@over_http
@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("mb_auth", {"action": "login"}, "api_key is required to log in"),
        ("mb_auth", {"action": "register"}, "username is required to register"),
        ("mb_post", {"action": "create", "title": "x"}, "title and content are required to create a post"),
        ("mb_post", {"action": "get"}, "id is required to get a post"),
        ("mb_feed", {"action": "search"}, "query is required to search"),
        ("mb_comment", {"action": "list"}, "post_id is required to list comments"),
        ("mb_vote", {"action": "upvote_comment", "post_id": "p1"}, "comment_id is required to upvote a comment"),
        ("mb_vote", {"action": "downvote_post"}, "post_id is required to downvote a post"),
        ("mb_social", {"action": "follow"}, "name is required to follow an agent"),
        ("mb_submolt", {"action": "create", "name": "x"}, "name and description are required to create a submolt"),
    ],
)  # fmt: skip
async def test_what_an_action_cannot_do_without_is_said_as_they_say_it(site, tool, arguments, message):
    assert await told(site, tool, arguments) == {"success": False, "message": message}


@over_http
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mb_auth", {"action": "register", "username": "x" * 51}),
        ("mb_auth", {"action": "update_profile", "bio": "x" * 501}),
        ("mb_auth", {"action": "update_profile", "display_name": "x" * 101}),
        ("mb_post", {"action": "create", "title": "x" * 301, "content": "y"}),
        ("mb_post", {"action": "create", "title": "x", "content": "y" * 10_001}),
        ("mb_post", {"action": "create", "title": "x", "content": "y", "submolt": "z" * 51}),
        ("mb_feed", {"action": "browse", "limit": 51}),
        ("mb_feed", {"action": "browse", "sort": "rising"}),
        ("mb_feed", {"action": "search", "query": "x" * 201}),
        ("mb_comment", {"action": "create", "post_id": "p1", "content": "x" * 5001}),
        ("mb_vote", {"action": "downvote_comment", "comment_id": "c1"}),
        ("mb_social", {"action": "follow", "name": "x" * 51}),
        ("mb_submolt", {"action": "create", "name": "x", "description": "y" * 501}),
    ],
)
async def test_arguments_are_bounded_as_there(site, network, tool, arguments):
    before = len(network.seen)
    answer = await call(site, "moltmind", tool, arguments)
    assert answer["isError"]
    assert answer["structuredContent"]["message"].startswith("Validation error: ")
    assert len(network.seen) == before


@over_http
@pytest.mark.parametrize("tool", NAMES)
async def test_each_tool_tells_of_failure_in_their_shape_and_when_to_try_again(site, network, tool):
    arguments = {
        "mb_auth": {"action": "update_profile", "bio": "x"},
        "mb_post": {"action": "get", "id": "p1"},
        "mb_feed": {"action": "browse"},
        "mb_comment": {"action": "list", "post_id": "p1"},
        "mb_vote": {"action": "upvote_post", "post_id": "p1"},
        "mb_social": {"action": "profile", "name": "heron"},
        "mb_submolt": {"action": "list"},
    }[tool]
    try:
        assert (await told(site, "mb_auth", {"action": "login", "api_key": KEY}))["success"]
        network.reply = always(lambda: failed(429, "Slow down", retry_after=42))
        assert await told(site, tool, arguments) == {
            "success": False, "message": "Moltbook asks to wait: try again in 42 s", "retry_after": 42,
        }  # fmt: skip
        network.reply = always(lambda: failed(401, "Invalid API key"))
        said = await told(site, tool, arguments)
        assert (said["success"], said["message"].startswith("Authentication failed")) == (False, True)
    finally:
        network.reply = None


@over_http
async def test_a_wrong_key_is_not_kept(site):
    async with raw(site, "writer", "empty") as caller:
        for step in (1, 2):
            arguments = {"action": "login", "api_key": f"wrong-{step}"}
            message = caller.message("tools/call", {"name": "mb_auth", "arguments": arguments})
            found = (await caller.post(message, query="?tools=moltmind")).json()["result"]["structuredContent"]
            assert (found["success"], "wrong" in found["message"]) == (False, False)
        message = caller.message("tools/call", {"name": "mb_auth", "arguments": {"action": "status"}})
        found = (await caller.post(message, query="?tools=moltmind")).json()["result"]["structuredContent"]
        assert found["authenticated"] is False


@over_http
async def test_who_may_only_read_is_shown_what_reads(site, network):
    tools = {each["name"]: each for each in await listing(site, "moltmind", "reader")}
    assert {name for name in tools if name.startswith("mb_")} == set(NAMES) - {"mb_vote"}
    assert tools["mb_post"]["inputSchema"]["properties"]["action"]["enum"] == ["get"]
    assert tools["mb_feed"]["inputSchema"]["properties"]["action"]["enum"] == ["browse", "personal", "search"]
    assert tools["mb_auth"]["inputSchema"]["properties"]["action"]["enum"] == ["status"]
    assert tools["mb_feed"]["annotations"] == {"readOnlyHint": True, "openWorldHint": True}
    assert tools["mm_recall"]["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    posts = len(network.posts)
    post = {"action": "create", "title": "By a reader", "content": "Not me"}
    assert "needs the role writer" in (await told(site, "mb_post", post, role="reader"))["message"]
    vote = await call(site, "moltmind", "mb_vote", {"action": "upvote_post", "post_id": "p1"}, role="reader")
    assert vote["message"] == "Unknown tool: mb_vote"
    assert len(network.posts) == posts


@over_http
async def test_deleting_needs_the_word_of_a_person(site, network):
    refused = await told(site, "mb_post", {"action": "delete", "id": "p1"})
    assert (refused["success"], "confirmed" in json.dumps(refused)) == (False, True)
    assert [each["id"] for each in network.posts] == ["p1"]


@over_http
async def test_without_an_address_nothing_tells_that_there_could_be_such_tools(tmp_path_factory):
    async def prepare(ground):
        return {"writer": await ground.token("writer", Role.WRITER, "*")}

    async with served(tmp_path_factory.mktemp("plain"), vaults=("moltmind",), prepare=prepare) as plain:
        tools = await listing(plain, "moltmind")
        assert len(tools) == 14
        assert not {"mb_", "oltbook", "social network"} & {w for w in ("mb_", "oltbook", "social network")
                                                           if w in json.dumps(tools)}  # fmt: skip
        for name in (*NAMES, "social", "mm_nothing"):
            answer = await call(plain, "moltmind", name, {"action": "status"})
            assert answer["message"] == f"Unknown tool: {name}"


def test_a_plain_server_asks_no_role_for_them():
    plain, whole = discover(), discover(endpoints=ENDPOINTS)
    assert {required_role(plain, name) for name in NAMES} == {None}
    assert [find_old_tool(plain, "moltmind", name) for name in NAMES] == [None] * len(NAMES)
    assert None not in [find_old_tool(whole, "moltmind", name) for name in NAMES]
    assert required_role(whole, "mb_feed") == Role.READER
    assert required_role(whole, "mb_vote") == Role.WRITER


def test_with_them_a_list_costs_no_more_than_the_one_they_publish_without():
    page = ToolCatalogue(discover(endpoints=ENDPOINTS)).page((Role.ADMIN, "moltmind", "auto"), None)
    shown = [each.model_dump(mode="json", by_alias=True, include={"name", "description", "input_schema"},
                             exclude_none=True) for each in page.tools]  # fmt: skip
    assert len(shown) == 21
    assert tokenizer.count_tokens(json.dumps(shown, ensure_ascii=False)) <= toolset_of("moltmind").published_tokens


async def test_no_odd_argument_breaks_a_translation(opening):
    async with moltbook() as network, opening({"social.moltbook.url": network.url}) as services:
        await granted(services)
        ask = asker(services, "moltmind", writer(services))
        await ask("mb_auth", action="login", api_key=KEY)
        for tool in SOCIAL_TOOLS:
            properties = tool.arguments.model_json_schema()["properties"]
            plain = {name: "x" for name in properties if fits(tool, name, "x")}
            for action in tool.calls:
                for name, schema in properties.items():
                    for odd in odd_values(schema) if name != "action" else ("fly", 7):
                        services.moltbook.endpoint._recent.clear()
                        outcome = await ask(tool.name, **{**plain, "action": action, name: odd})
                        assert outcome.code != "internal", (tool.name, action, name, odd)
                        assert "inside the server" not in outcome.text, (tool.name, action, name, odd)
