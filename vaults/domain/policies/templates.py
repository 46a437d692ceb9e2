"""Templates of policies: sandboxed Jinja, restricted by ``grammar``. Values are inserted verbatim and never interpreted
as templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from vaults.domain.policies import filters, grammar
from vaults.domain.policies.definitions import MAX_TEXT
from vaults.domain.policies.filters import MAX_OUTPUT, RenderBudget, TemplateRefused, to_text
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

_SIGNS = ("{{", "{%", "{#")
_BUDGET = "_budget"
_RESULT = "_result"


def is_template(text: str) -> bool:
    """Whether a text contains template syntax."""
    return any(sign in text for sign in _SIGNS)


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A checked template, ready to be filled."""

    place: str  # in the policy, for errors
    text: str
    names: frozenset[str]  # names it reads
    parts: frozenset[tuple[str, str | int]]  # which parts of them

    def render(self, values: Mapping[str, Any]) -> Any:
        """Render to text, or, for a template that is nothing but one ``{{ value }}``, to that value itself. Blocking
        for a millisecond the first time. Raises ``InvalidArgument`` that names its place."""
        from jinja2 import TemplateError

        try:
            return _render_code(_compile_code(self.text), {name: values[name] for name in self.names if name in values})
        except TemplateRefused as failure:
            raise InvalidArgument(self.place, str(failure)) from None
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
            raise InvalidArgument(
                self.place, "cannot be worked out: a value is of another kind than it needs"
            ) from None


def compile_template(text: str, place: str) -> CompiledTemplate:
    """Parse and check a template. Blocking for tenths of a millisecond. Raises ``InvalidArgument`` that names its
    place."""
    from jinja2 import TemplateSyntaxError

    if len(text) > MAX_TEXT:
        raise InvalidArgument(place, f"has more than {MAX_TEXT:,} characters")
    try:
        names, parts = grammar.find_names(_environment().parse(text))
    except TemplateRefused as failure:
        raise InvalidArgument(place, str(failure)) from None
    except TemplateSyntaxError as failure:
        where = f"in line {failure.lineno}"
        raise InvalidArgument(place, f"is no template: {where}", hint="{{ name }}, {% if %}, {% for %}") from None
    except (ValueError, RecursionError, OverflowError):
        raise InvalidArgument(place, "is no template: it is nested too deep, or a number is too large") from None
    return CompiledTemplate(place, text, frozenset(names), frozenset(parts))


@dataclass(frozen=True, slots=True)
class _TemplateCode:
    """A template compiled by Jinja. ``alone``: it is one value and nothing else."""

    template: Any
    alone: bool


@lru_cache(maxsize=256)
def _compile_code(text: str) -> _TemplateCode:
    """Compile a template that was checked before. Raises ``TemplateRefused`` if it is nested too deep for Python."""
    environment = _environment()
    tree = environment.parse(text)
    grammar.find_names(tree)  # makes its loops charge the budget
    value = _single_expression(tree)
    if value is not None:
        tree = _assign_result(value)
        tree.set_environment(environment)
    try:
        code = environment.compile(tree)
    except (SyntaxError, MemoryError):
        raise TemplateRefused("is nested too deep") from None
    return _TemplateCode(environment.template_class.from_code(environment, code, {}, None), value is not None)


def _single_expression(tree: nodes.Template) -> nodes.Expr | None:
    from jinja2 import nodes

    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output) or len(tree.body[0].nodes) != 1:
        return None
    only = tree.body[0].nodes[0]
    return None if isinstance(only, nodes.TemplateData) else only


def _assign_result(value: nodes.Expr) -> nodes.Template:
    from jinja2 import nodes

    return nodes.Template([nodes.Assign(nodes.Name(_RESULT, "store"), value, lineno=1)], lineno=1)


def _render_code(code: _TemplateCode, values: Mapping[str, Any]) -> Any:
    budget = RenderBudget()
    context = code.template.new_context({**values, _BUDGET: budget})
    parts, size = [], 0
    for part in code.template.root_render_func(context):
        size += len(part)
        if size > MAX_OUTPUT:
            raise TemplateRefused(f"comes to more than {MAX_OUTPUT:,} characters")
        budget.spend(1)
        parts.append(part)
    if not code.alone:
        return "".join(parts)
    result = context.vars[_RESULT]
    to_text(result)  # refuses what could not be shown
    return result


@cache
def _environment() -> Environment:
    """The shared Jinja environment: no globals, no tests, no loader, our filters only, and no attribute access."""
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sealed(ImmutableSandboxedEnvironment):
        """A part of a value is an item of a mapping or a list, never an attribute."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            fits = isinstance(argument, str) and isinstance(obj, dict)
            if fits and argument in obj:
                return obj[argument]
            if isinstance(obj, (list, tuple)) and isinstance(argument, int) and -len(obj) <= argument < len(obj):
                return obj[argument]
            raise TemplateRefused("names a part that its value does not have")

        def call(*_: Any, **__: Any) -> Any:
            raise TemplateRefused("calls something: templates call no functions")

    environment = Sealed(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        optimized=False,
        cache_size=0,
        finalize=to_text,
    )
    environment.globals.clear()
    environment.tests.clear()
    environment.filters.clear()
    for name, run in {**filters.FILTERS, "_each": filters.charge_loop}.items():
        environment.filters[name] = pass_context(partial(_run_filter, run))
    return environment


def _run_filter(run: Callable[..., object], context: Mapping[str, Any], value: object, *more: object) -> object:
    """Run a filter, charged to the budget of its rendering."""
    return run(value, context[_BUDGET], *more)
