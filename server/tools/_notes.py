"""Arguments that the tools on notes have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vaults.domain.memory import Text

Etag = Annotated[Text | None, Field(max_length=64, description="of the version you read")]
DryRun = Annotated[bool, Field(description="only show the diff")]
