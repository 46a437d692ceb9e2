"""Renders a tool's result as text and as JSON, each within the call's token budget, counted as they are sent."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import Any

from server.rendering import plain_text, token_counts
from server.rendering.token_counts import FREE_FORM
from server.rendering.truncation import POSITION_FIELDS, estimate_size, shorten
from server.tool_results import to_wire
from server.tool_spec import Arguments, ToolSpec
from vaults.context import run_in
from vaults.domain.text.sanitize import escape_hidden, to_visible_json
from vaults.search import tokenizer

MAX_CUTS = 12
"""Attempts at cutting a result shorter before nothing of it is left."""

SLACK = 0.93
"""Safety factor on the share that would just fit: tokens are not spread evenly over a text."""

NOTHING_FITS = "Nothing of the answer fits into max_tokens: ask with more."
CUT = "Cut to max_tokens: ask for less at once, or with more max_tokens."


@dataclass(frozen=True, slots=True)
class RenderedAnswer:
    """Both forms of an answer."""

    content: dict[str, Any]
    text: str
    written: str  # the content as a client writes it for its model
    over: int = 0  # tokens by which the longer form exceeded the budget before it was cut
    rows: int = 0  # rows of its longest list before it was cut


def render_whole(spec: ToolSpec, args: Arguments, result: Any) -> RenderedAnswer:
    """The answer for a reader inside this server: JSON uncut, with its empty values, and text within the budget."""
    shown = _fit_to_budget(spec, args, result, _render_both(spec, args, result))
    return replace(render_data(spec, result), text=shown.text)


def render_data(spec: ToolSpec, result: Any) -> RenderedAnswer:
    """JSON as of ``render_whole``, and no text: to cut that to a budget, the tokens of a megabyte would be counted."""
    content: dict[str, Any] = spec.output.dump_python(to_wire(spec.wire_type, result), mode="json", exclude_none=True)
    return RenderedAnswer(content, "", token_counts.serialize(content))


async def render(pool: Executor, spec: ToolSpec, args: Arguments, result: Any) -> RenderedAnswer:
    """The answer to a call. Long ones are counted on a thread of ``pool``."""
    room = args.token_budget()
    whole = _render_both(spec, args, result)
    if tokenizer.surely_fits([whole.written], room) and tokenizer.surely_fits([whole.text], room):
        return whole
    if tokenizer.is_quick_to_count([whole.written, whole.text]):
        return _fit_to_budget(spec, args, result, whole)
    return await run_in(pool, _fit_to_budget, spec, args, result, whole)


def _fit_to_budget(spec: ToolSpec, args: Arguments, result: Any, whole: RenderedAnswer) -> RenderedAnswer:
    room = args.token_budget()
    used = token_counts.count_tokens(whole.written, whole.text)
    if used <= room:
        return whole
    over, length, rows = max(0, used - room), float(estimate_size(result)), _longest_list(result)
    shown = whole
    for _ in range(MAX_CUTS):
        if used <= room:
            return replace(shown, over=over, rows=rows)
        length = min(length, float(estimate_size(result))) * SLACK * room / used
        result = shorten(result, int(length))
        shown = _render_both(spec, args, result, cut=True)
        used = token_counts.count_tokens(shown.written, shown.text)
    left = _reduce_to_nothing(shown.content, room)
    return RenderedAnswer(left, NOTHING_FITS, token_counts.serialize(left), over, rows)


def _longest_list(result: Any) -> int:
    several = (getattr(result, each.name) for each in fields(result))
    return max((len(each) for each in several if isinstance(each, list)), default=0)


def _render_both(spec: ToolSpec, args: Arguments, result: Any, *, cut: bool = False) -> RenderedAnswer:
    dumped = token_counts.dump(spec.output, to_wire(spec.wire_type, result))
    # An empty list at the top is an answer: nothing was found.
    content = {name: each if name in FREE_FORM else token_counts.prune(each) for name, each in dumped.items()}
    marks = {"truncated": True, "warnings": [*content.get("warnings", ()), CUT]} if cut else {}
    sent = content | marks
    written = token_counts.serialize(sent)
    plain = spec.connector(args, result) if spec.connector is not None else None
    if plain is not None:
        return RenderedAnswer(sent, to_visible_json({**plain, **marks}), written)
    # The cut is mentioned once, below.
    listed = {name: each for name, each in content.items() if not cut or name != "truncated"}
    rendered = (
        spec.render(result) if spec.render is not None else plain_text.outline_answer(_head(spec, result), listed)
    )
    shown = plain_text.render_text(rendered) if isinstance(rendered, plain_text.TextAnswer) else escape_hidden(rendered)
    return RenderedAnswer(sent, f"{shown}\n- {CUT}" if cut else shown, written)


def _head(spec: ToolSpec, result: Any) -> str:
    """The first line of an answer that is outlined line by line."""
    return (spec.head(result) if spec.head is not None else "") or f"{spec.name}:"


def _reduce_to_nothing(content: dict[str, Any], room: int) -> dict[str, Any]:
    """What is left where even the smallest answer is too long: the mark that there is more, and the shortest fields. No
    position fields: nothing was shown, so there is nowhere to go on from."""
    kept = {name: each for name, each in content.items() if name not in POSITION_FIELDS}
    bare = {name: type(each)() if isinstance(each, list | dict) else each for name, each in kept.items()}
    left: dict[str, Any] = {"truncated": True}
    for name in sorted(bare, key=lambda name: len(name) + len(str(bare[name]))):
        fuller = {**left, name: bare[name]}
        if tokenizer.count_tokens(token_counts.serialize(fuller)) <= room:
            left = fuller
    return left
