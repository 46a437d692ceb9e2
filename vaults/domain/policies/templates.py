"""Templates of policies: Jinja in its sandbox, held to ``grammar``. A value is put in as it is: nothing in it is ever
read as a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from vaults.domain.policies import filters, grammar
from vaults.domain.policies.filters import MAX_OUTPUT, Budget, Refused, written
from vaults.domain.policies.form import MAX_TEXT
from vaults.errors import InvalidArgument

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

_SIGNS = ("{{", "{%", "{#")
_BUDGET = "_budget"
_RESULT = "_result"


def is_template(text: str) -> bool:
    """Whether there is anything to fill in."""
    return any(sign in text for sign in _SIGNS)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A template, ready to be filled. ``names``: what it reads; ``parts``: which parts of that. ``alone``: it is one
    ``{{ value }}`` and nothing else, and comes to that value as it is: a number, a list."""

    place: str
    names: frozenset[str]
    parts: frozenset[tuple[str, str | int]]
    alone: bool
    code: Any

    def filled(self, values: Mapping[str, Any]) -> Any:
        """What it comes to. Blocking for long ones. Raises ``InvalidArgument`` that names its place."""
        from jinja2 import TemplateError, UndefinedError

        try:
            return _run(self, values)
        except Refused as failure:
            raise InvalidArgument(self.place, str(failure)) from None
        except UndefinedError:
            raise InvalidArgument(self.place, "names a part that its value does not have") from None
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
            raise InvalidArgument(
                self.place, "cannot be worked out: a value is of another kind than it needs"
            ) from None


@lru_cache(maxsize=512)
def compiled(text: str, place: str) -> Compiled:
    """Read a template. Blocking: a millisecond, once. Raises ``InvalidArgument`` that names its place."""
    from jinja2 import TemplateSyntaxError

    if len(text) > MAX_TEXT:
        raise InvalidArgument(place, f"has more than {MAX_TEXT:,} characters")
    try:
        tree = _environment().parse(text)
        names, parts = grammar.names(tree)
        alone = _alone(tree)
        code = _code(tree if alone is None else _assigned(alone))
        return Compiled(place, frozenset(names), frozenset(parts), alone is not None, code)
    except Refused as failure:
        raise InvalidArgument(place, str(failure)) from None
    except TemplateSyntaxError as failure:
        where = f"in line {failure.lineno}"
        raise InvalidArgument(place, f"is no template: {where}", hint="{{ name }}, {% if %}, {% for %}") from None
    except (ValueError, RecursionError, SyntaxError, MemoryError, OverflowError):
        raise InvalidArgument(place, "is no template: it is nested too deep, or a number is too large") from None


def _alone(tree: nodes.Template) -> nodes.Expr | None:
    from jinja2 import nodes

    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output) or len(tree.body[0].nodes) != 1:
        return None
    only = tree.body[0].nodes[0]
    return None if isinstance(only, nodes.TemplateData) else only


def _assigned(value: nodes.Expr) -> nodes.Template:
    from jinja2 import nodes

    return nodes.Template([nodes.Assign(nodes.Name(_RESULT, "store"), value, lineno=1)], lineno=1)


def _code(tree: nodes.Template) -> Any:
    environment = _environment()
    tree.set_environment(environment)
    return environment.template_class.from_code(environment, environment.compile(tree), {}, None)


def _run(template: Compiled, values: Mapping[str, Any]) -> Any:
    budget = Budget()
    known = {name: values[name] for name in template.names if name in values}
    context = template.code.new_context({**known, _BUDGET: budget})
    parts, size = [], 0
    for part in template.code.root_render_func(context):
        size += len(part)
        if size > MAX_OUTPUT:
            raise Refused(f"comes to more than {MAX_OUTPUT:,} characters")
        budget.spend(1)
        parts.append(part)
    if not template.alone:
        return "".join(parts)
    result = context.vars[_RESULT]
    written(result)  # refuses what could not be shown
    return result


@cache
def _environment() -> Environment:
    """The one environment: no globals, no tests, no loader, only filters of ours, and no attribute of any value."""
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sealed(ImmutableSandboxedEnvironment):
        """What a part of a value is: an item of a mapping or a list, never an attribute."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            fits = isinstance(argument, str) and isinstance(obj, dict)
            if fits and argument in obj:
                return obj[argument]
            if isinstance(obj, (list, tuple)) and isinstance(argument, int) and -len(obj) <= argument < len(obj):
                return obj[argument]
            raise Refused("names a part that its value does not have")

        def call(*_: Any, **__: Any) -> Any:
            raise Refused("calls something: templates call no functions")

    environment = Sealed(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        optimized=False,
        cache_size=0,
        finalize=written,
    )
    environment.globals.clear()
    environment.tests.clear()
    environment.filters.clear()
    for name, run in {**filters.FILTERS, "_each": filters.each}.items():
        environment.filters[name] = pass_context(partial(_charged, run))
    return environment


def _charged(run: Callable[..., object], context: Mapping[str, Any], value: object, *more: object) -> object:
    """A filter, at the cost of the rendering it belongs to."""
    return run(value, context[_BUDGET], *more)
