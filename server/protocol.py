"""MCP on one side, dispatch on the other: handlers of the low-level server, the same for every door and both eras.

Nothing here decides what a caller may do. The door says who calls (``identify``), dispatch decides the outcome, and
this module words both for the protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextContent,
    TextResourceContents,
)

from server import consent, prompts, resources
from server.call import Caller
from server.caller_views import view_of
from server.dispatch import CallOutcome, dispatch
from server.internal_calls import InternalCallRefused
from server.mcp_bridge import elicitation
from server.mcp_bridge.catalogue import ToolCatalogue
from server.mcp_bridge.error_wall import error_wall, replace_surrogates, to_mcp_error
from server.mcp_bridge.instructions_middleware import make_instructions_middleware
from server.mcp_bridge.subscriptions import Subscriptions
from server.services import Services
from server.toolsets.registry import find_old_tool
from server.toolsets.serving import serve_old_tool
from server.version import version
from vaults.errors import NotFound

Context: TypeAlias = ServerRequestContext[Any, Any]
Identify: TypeAlias = Callable[[Context], Caller]
Extend: TypeAlias = Callable[[Server[Any]], None]

_LONG, _NEVER = CacheHint(ttl_ms=60_000, scope="private"), CacheHint(ttl_ms=0, scope="private")
_KEEP: dict[Any, CacheHint] = {
    "server/discover": _LONG,
    "tools/list": _LONG,
    "prompts/list": _LONG,
    "resources/templates/list": _LONG,
    "resources/list": _NEVER,
    "resources/read": _NEVER,
}
"""How long a client may keep an answer. Private: lists depend on who asks."""

_NAMES_MEMORY = ("id", "from_id", "to_id")
"""Arguments and results of writing tools that hold the id of a memory they changed."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a transport serves with."""

    server: Server[Any]
    subscriptions: Subscriptions  # streams to end when a shutdown begins
    call: Callable[[Caller, str, Mapping[str, Any]], Awaitable[CallOutcome]]  # a tool call without its envelope
    may_call: Callable[[Caller, str], bool]  # whether the tool exists for the caller
    asks: Callable[[Caller, str, Mapping[str, Any]], bool]  # whether a person would be asked before the call
    traced: bool  # nothing may go round the SDK


def make_protocol(
    services: Services, identify: Identify, *, traced: bool = False, extend: Extend | None = None
) -> Protocol:
    """The MCP server of one process. ``traced`` keeps the SDK's tracing middleware, which costs a fifth of a call;
    ``extend`` may add handlers to the finished server (the conformance fixtures do)."""
    subscriptions = Subscriptions(services)
    handlers = _Handlers(services, identify, subscriptions)
    server: Server[Any] = Server(
        "strongroom",
        version=version(),
        cache_hints=_KEEP,
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_completion=handlers.complete,
        on_subscriptions_listen=handlers.listen,
    )
    if not traced:
        server.middleware.clear()  # a new server has one: tracing
    server.middleware += [
        error_wall,
        make_instructions_middleware(services.registry, identify),
        elicitation.make_boundary(services, identify),
    ]
    if extend is not None:
        extend(server)
    return Protocol(
        server=server,
        subscriptions=subscriptions,
        call=handlers.call,
        may_call=handlers.may_call,
        asks=handlers.asks,
        traced=traced,
    )


class _Handlers:
    """One method per request; each identifies the caller first."""

    def __init__(self, services: Services, identify: Identify, subscriptions: Subscriptions) -> None:
        self._services = services
        self._identify = identify
        self._subscriptions = subscriptions
        self._catalogue = ToolCatalogue(services.registry)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """For the SDK's check of ``Mcp-Param-*`` headers: without it the SDK lists every tool before each call."""
        spec = self._services.registry.get(name)
        return None if spec is None else spec.input_schema

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """Tools for this role, preset and write mode. Not a tool call, yet it costs like one, so it is admitted."""
        caller = self._identify(ctx)
        with self._services.quotas.admit(caller.principal, caller.vault):
            return self._catalogue.page(view_of(caller), params.cursor if params else None, caller.form)

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        caller = replace(self._identify(ctx), person=elicitation.person_of(ctx, params))
        if ctx.meta is not None and "progress_token" in ctx.meta:
            caller = replace(caller, progress=ctx.session.report_progress)
        outcome = await self.call(caller, params.name, params.arguments or {})
        if outcome.unknown_tool:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {replace_surrogates(params.name[:100])}")
        if outcome.question is not None:
            return elicitation.to_input_request(outcome.question)
        return CallToolResult.model_validate(
            {
                "content": outcome.blocks(caller.form),
                "structuredContent": outcome.structured(caller.form),
                "isError": not outcome.ok,
            }
        )

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> CallOutcome:
        """Dispatch a call; its outcome is fit to send. A tool above the caller's role answers as if it did not exist;
        one outside its preset is merely not listed. A tool of the caller's toolset is put into calls of ours."""
        old = find_old_tool(self._services.registry, caller.preset, name)
        if old is None:
            return await self._call_ours(caller, name, arguments)
        outcome = await serve_old_tool(self._services, *old, caller, arguments, self._call_ours)
        content, text = replace_surrogates(outcome.content), replace_surrogates(outcome.text)
        return replace(outcome, content=content, text=text)

    async def _call_ours(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> CallOutcome:
        outcome = await dispatch(self._services, caller, name, arguments)
        if outcome.ok:
            await self._tell(caller, name, arguments, outcome)
            return outcome
        hidden = outcome.code == "forbidden" and not self.may_call(caller, name)
        return replace(
            outcome,
            content=replace_surrogates(outcome.content),
            text=replace_surrogates(outcome.text),
            unknown_tool=outcome.unknown_tool or hidden,
        )

    def may_call(self, caller: Caller, name: str) -> bool:
        """Whether there is such a tool, with at least one action for the caller's role."""
        old = find_old_tool(self._services.registry, caller.preset, name)
        if old is not None:
            return old[1].is_possible(self._services.registry, caller.role)
        spec = self._services.registry.get(name)
        return spec is not None and caller.role >= spec.least_role

    def asks(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a person has to agree to this call; of an old tool, whether one may have to."""
        old = find_old_tool(self._services.registry, caller.preset, name)
        if old is not None:
            return old[1].may_ask(self._services.registry, caller.write_mode)
        spec, vaults = self._services.registry.get(name), self._services.registry_cache
        if spec is None or not vaults.known(caller.vault):
            return False
        arguments = consent.replace_old_argument(spec, arguments)
        return consent.needs_confirmation(caller, vaults.entry(caller.vault).destructive, spec, arguments)

    async def _tell(self, caller: Caller, name: str, arguments: Mapping[str, Any], outcome: CallOutcome) -> None:
        spec = self._services.registry.get(name)
        resource = resources.CHANGED_BY.get(name)
        if spec is not None and spec.action_of(arguments).writes:
            both = (outcome.content, arguments)
            named = [values[name] for values in both for name in _NAMES_MEMORY if isinstance(values.get(name), str)]
            await self._subscriptions.changed(
                caller, dict.fromkeys([*named, *outcome.content.get("forgotten", ())]), resource
            )

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        caller = self._identify(ctx)
        with self._services.quotas.admit(caller.principal, caller.vault):
            _refuse_cursor(params)
            shown = prompts.list_prompts(self._services.registry, view_of(caller))
            return ListPromptsResult(prompts=[_prompt(each) for each in shown])

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        caller = self._identify(ctx)
        try:
            with _refusals():
                prompt, text = await prompts.compose(self._services, caller, params.name, params.arguments)
        except NotFound as absent:
            raise MCPError(INVALID_PARAMS, replace_surrogates(absent.message)) from None
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=prompt.description, messages=[message])

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        with _refusals():
            entries, cursor = await resources.list_resources(
                self._services, self._identify(ctx), params.cursor if params else None
            )
        return ListResourcesResult(resources=[_resource(entry) for entry in entries], next_cursor=cursor)

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        caller = self._identify(ctx)
        with self._services.quotas.admit(caller.principal, caller.vault):
            _refuse_cursor(params)
            return ListResourceTemplatesResult(resource_templates=[_template(each) for each in resources.TEMPLATES])

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        caller, uri = self._identify(ctx), str(params.uri)
        try:
            with _refusals():
                found = await resources.read_resource(self._services, caller, uri)
        except NotFound as absent:
            raise MCPError(INVALID_PARAMS, absent.message, {"uri": replace_surrogates(uri[:1000])}) from None
        about = {f"strongroom/{kind}": known for kind, known in found.about.items()} or None
        contents = TextResourceContents(uri=found.uri, mime_type=found.mime_type, text=found.text, _meta=about)
        return ReadResourceResult(contents=[contents])

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        caller = self._identify(ctx)
        value = replace_surrogates(params.argument.value)
        with _refusals():
            if isinstance(params.ref, PromptReference):
                found = await prompts.complete_argument(
                    self._services, caller, params.ref.name, params.argument.name, value
                )
            else:
                found = await self._completed(caller, (params.ref.uri, params.argument.name), value)
        shown = found[: resources.COMPLETIONS]
        return CompleteResult(completion=Completion(values=shown, total=len(found), has_more=len(found) > len(shown)))

    async def _completed(self, caller: Caller, reference: tuple[str, str], value: str) -> list[str]:
        template = next((each for each in resources.TEMPLATES if (each.uri, each.argument) == reference), None)
        return [] if template is None else await resources.complete_argument(self._services, caller, template, value)

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        with _refusals():
            return await self._subscriptions.serve(ctx, params, self._identify(ctx))


@contextmanager
def _refusals() -> Iterator[None]:
    """Turns a refused internal call into a JSON-RPC error."""
    try:
        yield
    except InternalCallRefused as refused:
        error = refused.outcome.content["error"]
        raise to_mcp_error(error["code"], error["message"], error) from None


def _refuse_cursor(params: PaginatedRequestParams | None) -> None:
    """For lists of a single page."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "Validation error: cursor is not one this listing gave")


def _prompt(prompt: prompts.Prompt) -> Prompt:
    arguments = [PromptArgument(name=each.name, description=each.description) for each in prompt.arguments]
    return Prompt(name=prompt.name, description=prompt.description, arguments=arguments)


def _template(template: resources.ResourceFamily) -> ResourceTemplate:
    return ResourceTemplate(
        name=template.name,
        uri_template=template.uri,
        description=template.description,
        mime_type=template.mime_type,
    )


def _resource(entry: resources.ResourceEntry) -> Resource:
    return Resource(
        uri=entry.uri,
        name=entry.name,
        description=entry.description,
        mime_type=entry.mime_type,
        size=entry.size,
        annotations=Annotations(last_modified=entry.modified) if entry.modified else None,
    )
