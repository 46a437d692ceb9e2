"""The contextvar that carries who is calling, for which vault and until when.

It has no default on purpose: code that lost its context raises ``LookupError`` instead of reading some other
vault. It carries; it is not the authority. Handlers get the vault handle from the call, never from here.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from vaults.change_notes import ChangeNotes

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallContext:
    """One call. ``deadline`` is a reading of ``time.monotonic()``, in seconds. ``whole_sizes``: characters of the whole
    texts its answer quotes, by what each is known by. ``changes``: what it changed; None where nobody asks."""

    principal: str
    vault: str
    deadline: float
    session: str | None = None
    whole_sizes: dict[str, int] = field(default_factory=dict)
    changes: ChangeNotes | None = None


_call: contextvars.ContextVar[CallContext] = contextvars.ContextVar("strongroom_call")


def current_call() -> CallContext:
    """The call being served. Raises ``LookupError`` outside of one."""
    return _call.get()


def note_whole_sizes(sizes: Mapping[str, int]) -> None:
    """Say how long the whole texts are that the answer quotes, in place of what was said for an answer that turned out
    too long; outside of a call nobody asks."""
    with suppress(LookupError):
        known = _call.get().whole_sizes
        known.clear()
        known.update(sizes)


def changes_of_call() -> ChangeNotes | None:
    """Where the call being served says what it changes; None where nobody asks."""
    call = _call.get(None)
    return None if call is None else call.changes


@contextmanager
def bind_call(call: CallContext) -> Iterator[CallContext]:
    """Serve one call: the variable is set inside the block and put back after it."""
    token = _call.set(call)
    try:
        yield call
    finally:
        _call.reset(token)


async def run_in(executor: Executor, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``fn`` on an owned executor with the caller's context.

    ``loop.run_in_executor`` alone loses the context, which is why it is banned everywhere else.
    """
    return await begin_in(executor, fn, *args, **kwargs)


def begin_in(executor: Executor, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """``run_in``, for work that goes on while the caller does something else: a thread may have it at once."""
    work = functools.partial(contextvars.copy_context().run, functools.partial(fn, *args, **kwargs))
    return asyncio.get_running_loop().run_in_executor(executor, work)


def begin_apart(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Begin work that outlives the call that caused it: nothing it does counts as that call's."""
    return asyncio.create_task(work, name=name, context=contextvars.Context())


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns. Once begun it runs to its end; a caller that is cancelled leaves only then."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    finally:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
