"""A tool that does nothing: what is left is the price of the door."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.tool_spec import Arguments, tool


class NoopArguments(Arguments):
    number: int = Field(ge=0, description="comes back")


@dataclass(frozen=True, slots=True)
class Echo:
    """The number that came."""

    number: int


@tool(role=Role.READER, render=lambda echo: f"Number {echo.number}.")
async def noop(call: Call, args: NoopArguments) -> Echo:
    """Do nothing and give the number back."""
    del call
    return Echo(args.number)
