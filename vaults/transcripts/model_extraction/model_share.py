"""What of a conversation a model has read, and which memories are the rules' and which the model's."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.model_extraction.model_memory import RULE
from vaults.transcripts.model_extraction.turn_window import mark_turns
from vaults.transcripts.transcript import Conversation


@dataclass(frozen=True, slots=True)
class ModelShare:
    """``read_to``: positions before it are done with; ``mark``: digest of their turns; ``ruled``: from where to where,
    the end excluded, the model gave no answer and the rules stand in."""

    read_to: int = 0
    mark: str = ""
    ruled: tuple[tuple[int, int], ...] = ()

    def checked(self, conversation: Conversation) -> ModelShare:
        """This, or nothing where the conversation does not begin as it did: it was gone back on and begun anew."""
        turns = (turn for turn in conversation.turns if turn.position < self.read_to)
        return self if not self.read_to or mark_turns(turns) == self.mark else ModelShare()

    def is_ruled(self, position: int) -> bool:
        """Whether the rules stand in for the model there."""
        return any(begin <= position < end for begin, end in self.ruled)


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What became of a part of a conversation. ``share``: what is read by then; ``lines``: memories the model made;
    ``replaced``: external ids of memories it took back."""

    share: ModelShare
    lines: list[dict[str, Any]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """For keeping."""
        return json.dumps(asdict(self))


def share_from_json(text: str) -> ModelShare:
    """What ``json.dumps(asdict(share))`` wrote."""
    return _to_share(json.loads(text))


def result_from_json(text: str) -> WindowResult:
    """What ``WindowResult.to_json`` wrote."""
    kept = json.loads(text)
    return WindowResult(_to_share(kept["share"]), kept["lines"], kept["replaced"])


def _to_share(kept: dict[str, Any]) -> ModelShare:
    return ModelShare(kept["read_to"], kept["mark"], tuple((begin, end) for begin, end in kept["ruled"]))


def divide(
    by_rules: Iterable[dict[str, Any]],
    former: Mapping[str, dict[str, Any]],
    share: ModelShare,
    replaced: Collection[ExtractionKind],
    result: WindowResult | None = None,
) -> list[dict[str, Any]]:
    """The memories of a conversation: the rules' where the model does not answer, and the model's.

    Where it has not read yet, what the rules had made before there was a model stays until it has."""

    def stays(line: dict[str, Any]) -> bool:
        position = line["position"]
        if line["metadata"]["extracted"] not in replaced or share.is_ruled(position):
            return True
        return position >= share.read_to and line["external_id"] in former

    kept = {line["external_id"]: line for line in by_rules if stays(line)}
    if share.read_to:
        kept |= {name: line for name, line in former.items() if is_by_model(line)}
    if result is not None:
        for name in result.replaced:
            kept.pop(name, None)
        kept |= {line["external_id"]: line for line in result.lines}
    return list(kept.values())


def is_by_model(line: Mapping[str, Any]) -> bool:
    """Whether a model made this memory."""
    return bool(line["metadata"].get("rule") == RULE)
