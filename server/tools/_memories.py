"""Arguments shared by the tools on memories."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Id = Annotated[str, Field(min_length=1, max_length=64, description="a memory's id")]
Ids = Annotated[list[Id], Field(min_length=1, max_length=50, description="ids of memories")]
