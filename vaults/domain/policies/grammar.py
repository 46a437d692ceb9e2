"""What templates may contain: names, parts of them, comparisons, ``if``, ``for`` and a list of filters. All other Jinja
syntax is refused by name before any of it runs."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from vaults.domain.policies.filters import FILTERS, TemplateRefused

if TYPE_CHECKING:
    from jinja2 import nodes

MAX_DEPTH = 25
"""Max levels of a template's tree: Jinja compiles each to a pair of brackets."""

MAX_LOOPS = 3
"""Max nesting of loops."""

MAX_NODES = 2_000
MAX_NUMBER = 2**53

_PLAIN = frozenset(
    {"Template", "Output", "TemplateData", "If", "Compare", "Operand", "And", "Or", "Not", "List", "Tuple"}
)
_REASONS = {
    "Call": "calls something: templates call no functions; filters are what there is",
    "Test": "uses a test with 'is': compare instead, such as x == 'y', or use if x",
    "Assign": "sets a name: templates only read",
    "AssignBlock": "sets a name: templates only read",
    "Include": "includes another template",
    "Import": "imports another template",
    "FromImport": "imports another template",
    "Extends": "extends another template",
    "Macro": "defines a macro",
    "Block": "defines a block",
    "Slice": "cuts a value: filters first, last and replace are there",
    "Concat": "joins with '~': write the parts one after the other",
    "Dict": "writes a mapping",
}
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow", "Pos"})
_FILTERS = f"filters: {', '.join(sorted(FILTERS))}"


def find_names(template: nodes.Template) -> tuple[set[str], set[tuple[str, str | int]]]:
    """The names a template reads except its own loop variables, and which parts of them. Raises ``TemplateRefused`` for
    anything not allowed. Modifies each loop to charge the cost of its iterations."""
    return _TemplateReader().whole(template)


class _TemplateReader:
    """One walk over a template."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.parts: set[tuple[str, str | int]] = set()
        self.seen = 0

    def whole(self, template: nodes.Template) -> tuple[set[str], set[tuple[str, str | int]]]:
        self._look(template, frozenset(), 0, 0)
        return self.found, self.parts

    def _look(self, node: nodes.Node, declared: Set[str], depth: int, loops: int) -> None:
        self.seen += 1
        if depth > MAX_DEPTH or self.seen > MAX_NODES:
            raise TemplateRefused("is nested too deep" if depth > MAX_DEPTH else "has too many parts")
        kind = type(node).__name__
        special = getattr(self, f"_{kind.lower()}", None)
        if special is not None:
            special(node, declared, depth, loops)
        elif kind in _PLAIN:
            self._below(node, declared, depth, loops)
        else:
            raise TemplateRefused(_REASONS.get(kind) or _reason_for(kind))

    def _below(self, node: nodes.Node, declared: Set[str], depth: int, loops: int) -> None:
        for child in node.iter_child_nodes():
            self._look(child, declared, depth + 1, loops)

    def _name(self, node: nodes.Name, declared: Set[str], *_: int) -> None:
        if node.name not in declared:
            self.found.add(node.name)

    def _const(self, node: nodes.Const, *_: object) -> None:
        value = node.value
        if isinstance(value, (int, float)) and not -MAX_NUMBER <= value <= MAX_NUMBER:
            raise TemplateRefused("holds a number that is too large")

    def _neg(self, node: nodes.Neg, declared: Set[str], depth: int, loops: int) -> None:
        if type(node.node).__name__ != "Const" or not isinstance(node.node.value, (int, float)):  # type: ignore[attr-defined]
            raise TemplateRefused("does arithmetic: templates do not")
        self._below(node, declared, depth, loops)

    def _getattr(self, node: nodes.Getattr, declared: Set[str], depth: int, loops: int) -> None:
        self._part(node.node, node.attr, declared)
        self._look(node.node, declared, depth + 1, loops)

    def _getitem(self, node: nodes.Getitem, declared: Set[str], depth: int, loops: int) -> None:
        key = getattr(node.arg, "value", None)
        if type(node.arg).__name__ != "Const" or isinstance(key, bool) or not isinstance(key, (str, int)):
            raise TemplateRefused(
                "takes a part of a value by something else than a written key, such as ['text'] or [0]"
            )
        self._part(node.node, key, declared)
        self._look(node.node, declared, depth + 1, loops)

    def _part(self, of: nodes.Node, key: str | int, declared: Set[str]) -> None:
        if type(of).__name__ not in ("Name", "Getattr", "Getitem") or (isinstance(key, str) and key.startswith("_")):
            raise TemplateRefused(
                "takes an attribute of a value: templates see no attributes, only parts of lists and mappings"
            )
        name = getattr(of, "name", None)
        if isinstance(name, str) and name not in declared:
            self.parts.add((name, key))

    def _filter(self, node: nodes.Filter, declared: Set[str], depth: int, loops: int) -> None:
        if node.name not in FILTERS:
            raise TemplateRefused(f"uses the filter {node.name[:40]}, which there is not; {_FILTERS}")
        if node.kwargs or node.dyn_args or node.dyn_kwargs or node.node is None:
            raise TemplateRefused(f"uses the filter {node.name[:40]} in a way that there is not: give plain arguments")
        self._below(node, declared, depth, loops)

    def _condexpr(self, node: nodes.CondExpr, declared: Set[str], depth: int, loops: int) -> None:
        if node.expr2 is None:
            raise TemplateRefused("has an if without else: say what it is otherwise")
        self._below(node, declared, depth, loops)

    def _for(self, node: nodes.For, declared: Set[str], depth: int, loops: int) -> None:
        from jinja2 import nodes

        if loops >= MAX_LOOPS:
            raise TemplateRefused(f"has more than {MAX_LOOPS} loops in each other")
        if node.recursive or not isinstance(node.target, nodes.Name):
            raise TemplateRefused("has a loop of another form than {% for item in list %}")
        self._look(node.iter, declared, depth + 1, loops)
        before, inside = self.seen, {*declared, node.target.name}
        for child in [*node.body, *([node.test] if node.test else [])]:
            self._look(child, inside, depth + 1, loops + 1)
        for child in node.else_:
            self._look(child, declared, depth + 1, loops)
        cost = nodes.Const(10 + 10 * (self.seen - before))
        node.iter = nodes.Filter(node.iter, "_each", [cost], [], None, None, lineno=node.lineno)


def _reason_for(kind: str) -> str:
    if kind in _ARITHMETIC:
        return "does arithmetic: templates do not; the filter days counts days"
    return f"uses something that templates may not ({kind})"
