"""A note as HTML, for reading.

Markdown is read as CommonMark with tables, strikethrough, wiki links and tasks (markdown-it). What a note may bring
along is decided afterwards, on the HTML itself (nh3, an allow-list): no scripts, styles, forms, frames or pictures from
elsewhere, however it was written. Boxes of tasks, which that list would not let through, are put in last.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from server.ui.visible_text import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_TEXT = 120_000
"""Characters that are rendered; a longer note is shown in pieces."""

MAX_LABEL = 200

_OPEN, _CLOSE = "\ue000", "\ue001"  # taken out of texts; entities may spell them, so marks have a key of their page
_BOX = re.compile(f"{_OPEN}([0-9a-f]{{16}}) ([0-9]+) ([^{_CLOSE}]*){_CLOSE}")
_EMBED = re.compile(f"{_OPEN}([0-9a-f]{{16}}) e([0-9]+){_CLOSE}")
_EMBEDS_ALONE = re.compile(f"<p>((?:{_EMBED.pattern}(?:<br>)?\\s*)+)</p>")
_OTHER_FILE = re.compile(r"\.(?!md$|markdown$)[A-Za-z0-9]{1,5}$", re.IGNORECASE)
_TASK = re.compile(r"\[([^\n\]])\](?=\s|$)")
_WIKI = re.compile(r"(!?)\[\[([^\[\]\n|]{0,500})(?:\|([^\[\]\n]{0,500}))?\]\]")
_HEADING = "h-"
_SLUG = re.compile(r"[^\w]+")

_TAGS = frozenset(
    re.findall(
        "[a-z0-9]+",
        "a abbr b blockquote br caption cite code dd del details dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li"
        " mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var",
    )
)
_DROPPED = frozenset({"script", "style", "template", "noscript", "svg", "math", "title", "textarea", "xmp", "iframe"})
_ATTRIBUTES = {
    "a": {"href", "title"},
    "abbr": {"title"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
    **{f"h{level}": {"id"} for level in range(1, 7)},
}
_CLASSES = {"a": {"wiki", "missing", "embed"}, "td": {"right", "center"}, "th": {"right", "center"}}

Resolve = Callable[[str], str | None]
"""From a link's target as written to the path of the note it means; None: there is none."""


@dataclass(frozen=True, slots=True)
class NotePlaces:
    """Where the links of a note lead. ``base``: the address of the vault's notes, with a slash at its end."""

    base: str
    resolve: Resolve

    def address(self, path: str, heading: str = "") -> str:
        """Where a note is shown. Steps up in a path that means no note lead to none, and not out of the notes."""
        steps = [step for step in path.split("/") if step not in (".", "..")] if "." in path else [path]
        return f"{self.base}{quote('/'.join(steps))}" + (f"#{heading_id(heading)}" if heading else "")


@dataclass(frozen=True, slots=True)
class PageHeading:
    """A heading, and the id it has on the page."""

    level: int
    text: str
    id: str


@dataclass(frozen=True, slots=True)
class RenderedNote:
    """``html`` is safe to put into a page."""

    html: Markup
    outline: Sequence[PageHeading] = field(default_factory=tuple)


def heading_id(text: str) -> str:
    """The id of a heading. It begins with a mark of ours, so that none can take the name of a part of the page."""
    return _HEADING + (_SLUG.sub("-", text.casefold()).strip("-") or "heading")


def find_embeds(text: str) -> list[str]:
    """The notes and sections that a note shows in place, as they are written, each once. Those within a line, pictures
    and single blocks are not: they are links."""
    if "![[" not in text:
        return []
    return list(dict.fromkeys(each.meta["target"] for each in _list_embeds(_parser().parse(_to_shown(text), {}))))


def render_note(
    text: str,
    places: NotePlaces,
    tick: Callable[[int, str], Markup] | None = None,
    first_line: int = 1,
    embeds: Mapping[str, Markup] | None = None,
) -> RenderedNote:
    """Render the body of a note, at most ``MAX_TEXT`` characters of it. ``tick(line, status)`` is the box of the task
    in a line of the note, where the body begins with ``first_line``; without it boxes are signs. ``embeds``: what
    stands in the place of an embed, by how it is written; others are links. Never raises."""
    env: dict[str, Any] = {"places": places}
    tokens = _parser().parse(_to_shown(text), env)
    outline = tuple(_name_headings(tokens))
    key = secrets.token_hex(8)
    _mark_tasks(tokens, first_line, key)
    blocks = _mark_embeds(tokens, embeds or {}, key)
    html = nh3.clean(
        _parser().renderer.render(tokens, _parser().options, env),
        tags=set(_TAGS),
        clean_content_tags=set(_DROPPED),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_check_attribute,
        allowed_classes={tag: set(names) for tag, names in _CLASSES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    draw = tick or _draw_box
    html = _BOX.sub(lambda box: draw(int(box[2]), unquote(box[3])) if box[1] == key else "", html)
    return RenderedNote(Markup(_put_embeds(html, blocks, key)), outline)  # noqa: S704


def _to_shown(text: str) -> str:
    return show(text[:MAX_TEXT].replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd"))


def _check_attribute(_tag: str, name: str, value: str) -> str | None:
    """What stays of an attribute. A box is put into text alone: HTML that a note left open may have taken its mark into
    a value. Ids that are not of our headings could stand for a part of the page."""
    if name == "id" and not value.startswith(_HEADING):
        return None
    return value.replace(_OPEN, "").replace(_CLOSE, "")


def _draw_box(_: int, status: str) -> Markup:
    return Markup('<span class="box">[{}]</span> ').format(status)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 20}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "wiki_link", _read_wiki_link)
    parser.add_render_rule("wiki_link", _write_wiki_link)
    parser.add_render_rule("image", _write_image)
    parser.add_render_rule("link_open", _write_link)
    parser.add_render_rule("td_open", _write_cell)
    parser.add_render_rule("th_open", _write_cell)
    return parser


def _read_wiki_link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  as the parser calls it
    match = _WIKI.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("wiki_link", "", 0)
        token.meta = {"embed": bool(match[1]), "target": match[2].strip(), "label": match[3]}
    state.pos = match.end()
    return True


def _write_wiki_link(_self: object, tokens: Sequence[Token], at: int, _options: object, env: Mapping[str, Any]) -> str:
    places, meta = env["places"], tokens[at].meta
    if "block" in meta:
        return str(meta["block"])
    name, _, heading = meta["target"].partition("#")
    label = (meta["label"] or meta["target"] or heading)[:MAX_LABEL]
    if not name:
        return Markup('<a class="wiki" href="#{}">{}</a>').format(heading_id(heading.lstrip("^")), label)
    path = places.resolve(name)
    kinds = ["wiki", *(["embed"] if meta["embed"] else []), *(["missing"] if path is None else [])]
    return Markup('<a class="{}" href="{}">{}</a>').format(
        " ".join(kinds), places.address(path or name, heading.lstrip("^")), label
    )


def _write_link(_self: object, tokens: Sequence[Token], at: int, _options: object, env: Mapping[str, Any]) -> str:
    """A link to another note leads to its page; all others stay as they are."""
    places, href, title = env["places"], str(tokens[at].attrGet("href") or ""), tokens[at].attrGet("title")
    if not re.match(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|//|#|/)", href) and href:
        name, _, heading = unquote(href).partition("#")
        path = places.resolve(name)
        href = places.address(path or name, heading)
    elif href.startswith("/") and not href.startswith("//"):
        path = places.resolve(unquote(href).lstrip("/"))
        href = places.address(path or unquote(href).lstrip("/"))
    elif href.startswith("#"):
        href = f"#{heading_id(unquote(href[1:]))}"
    about = Markup(' title="{}"').format(title) if title else ""
    return Markup('<a href="{}"{}>').format(href, about)


def _write_image(_self: object, tokens: Sequence[Token], at: int, _options: object, env: Mapping[str, Any]) -> str:
    """Pictures are links: one from elsewhere would tell its server who reads this note."""
    source, label = str(tokens[at].attrGet("src") or ""), tokens[at].content
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", source):
        source = env["places"].address(unquote(source).lstrip("/"))
    return Markup('<a class="embed" href="{}">{}</a>').format(source, label or source[:MAX_LABEL])


def _write_cell(_self: object, tokens: Sequence[Token], at: int, _options: object, _env: object) -> str:
    """The place of a cell's text as a class: the policy of our pages allows no styles in a tag."""
    token = tokens[at]
    align = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} class="{align}">' if align in {"right", "center"} else f"<{token.tag}>"


def _name_headings(tokens: Sequence[Token]) -> list[PageHeading]:
    """Give each heading an id, the second of a name with a number."""
    seen: dict[str, int] = {}
    found = []
    for token, inline in pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = _plain(inline)
        name = heading_id(text)
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name}-{seen[name]}"
        token.attrSet("id", name)
        found.append(PageHeading(int(token.tag[1]), text[:MAX_LABEL], name))
    return found


def _plain(inline: Token) -> str:
    """The words of a heading without its marks."""
    parts = []
    for child in inline.children or ():
        if child.type == "wiki_link":
            parts.append(child.meta["label"] or child.meta["target"])
        elif child.type in {"text", "code_inline", "image"}:
            parts.append(child.content)
        elif child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
    return "".join(parts).strip()


def _mark_tasks(tokens: Sequence[Token], first_line: int, key: str) -> None:
    """Put a mark in place of each box at the beginning of a list item."""
    for before, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type != "list_item_open" or paragraph.type != "paragraph_open" or not inline.children:
            continue
        text = inline.children[0]
        if text.type != "text" or inline.map is None:
            continue
        if (box := _TASK.match(text.content)) is not None:
            mark = f"{_OPEN}{key} {first_line + inline.map[0]} {quote(box[1], safe='')}{_CLOSE}"
            text.content = mark + text.content[box.end() :].removeprefix(" ")


def _list_embeds(tokens: Sequence[Token]) -> Iterator[Token]:
    """Embeds that have a paragraph for themselves, with none beside them but others."""
    for opening, inline in pairwise(tokens):
        children = inline.children or []
        if opening.type != "paragraph_open" or not children:
            continue
        found = [each for each in children if each.type not in ("softbreak", "hardbreak")]
        if all(each.type == "wiki_link" and _is_note(each) for each in found):
            yield from found


def _is_note(link: Token) -> bool:
    name, _, heading = link.meta["target"].partition("#")
    return bool(link.meta["embed"]) and not heading.startswith("^") and not _OTHER_FILE.search(name)


def _mark_embeds(tokens: Sequence[Token], embeds: Mapping[str, Markup], key: str) -> list[Markup]:
    """Put a mark in the place of each embed that is there; returns what they stand for. One that is written twice is
    shown once, and a link after that."""
    blocks: list[Markup] = []
    left = dict(embeds)
    for each in _list_embeds(tokens):
        if (block := left.pop(each.meta["target"], None)) is not None:
            each.meta["block"] = f"{_OPEN}{key} e{len(blocks)}{_CLOSE}"
            blocks.append(block)
    return blocks


def _put_embeds(html: str, blocks: Sequence[Markup], key: str) -> str:
    """The blocks in place of their marks, last of all: they were cleaned by themselves."""
    if not blocks:
        return html
    bare = _EMBEDS_ALONE.sub(lambda found: found[1], html)
    return _EMBED.sub(lambda mark: blocks[int(mark[2])] if mark[1] == key else "", bare)
