"""Traits of a passage, found in its text once, when it is indexed. Pure, and linear in the text's length.

Both traits only move a passage in a ranking or flag it: neither ever hides one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TypeAlias

QUESTION_SHARE = 0.25
"""Share of a turn's characters. Of LoCoMo's 552 turns that end with a question, those with a smaller share of questions
hold an answer more often than other turns do (.36 to .25), those with a larger one much less often (.09)."""

_LEAD = re.compile(r"\s*(?:\[[^\[\]\n]{1,40}\]\s*)?(?:[^\W\d_][^:\n?!\[\]]{0,40}:\s+)?")
_SMILEY = re.compile(r"\s[:;=]-?[()DP]\Z")
_ENDS = "?？؟‽⁇⁈⁉՞፧"
_END = re.compile(f"[{_ENDS}]")
_ASKED = re.compile(rf"[^.!。！{_ENDS}\n]*[{_ENDS}][!！{_ENDS}]*")
_NO_END = re.compile(r"[\w.!。！…]")


def is_question(body: str) -> bool:
    """Whether a passage asks: its last sentence is a question, and questions make up a quarter of it or more.

    A bracketed date or tag and a ``Speaker:`` before it, and quotes, emoji and bracketed tags after it, do not count.
    """
    if ("?" not in body) if body.isascii() else (_END.search(body) is None):
        return False
    lead = _LEAD.match(body)
    text = _strip_ornament(body[lead.end() if lead else 0 :])
    if not text or text[-1] not in _ENDS:
        return False
    asked = sum(len(part.strip()) for part in _ASKED.findall(text))
    return asked >= QUESTION_SHARE * len(text)


def _strip_ornament(text: str) -> str:
    """``text`` up to its last word, full stop or question mark; "?!" asks as "?" does."""
    text = text.rstrip()
    while text.endswith("]") and (tag := text.rfind("[")) >= 0 and "]" not in text[tag:-1]:
        text = text[:tag].rstrip()
    if smiley := _SMILEY.search(text, max(0, len(text) - 8)):
        text = text[: smiley.start()]
    end = len(text)
    while end and text[end - 1] not in _ENDS and not _NO_END.match(text[end - 1]):
        end -= 1
    exclaimed = len(text[:end].rstrip("!！"))
    return text[:exclaimed] if text[exclaimed - 1 : exclaimed] in tuple(_ENDS) else text[:end]


_Family: TypeAlias = tuple[tuple[str, ...], re.Pattern[str]]
"""Words of which the text must hold one for the pattern to be worth running, and the pattern."""


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Patterns of phrases. ``keys`` as of a ``_Family``; ``turns``: of these the text's words must hold one as well. A
    pattern takes as long as fifty such looks, and many a harmless text has a key."""

    keys: tuple[str, ...]
    turns: tuple[str, ...]
    pattern: re.Pattern[str]


def _phrases(keys: str, turns: str, *patterns: str) -> _Phrases:
    """``turns`` are parted by bars."""
    pattern = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in patterns))
    return _Phrases(tuple(keys.split()), tuple(turns.split("|")), pattern)


_THE = r"(?:(?:all|any|the|of|your|my|our|these|those|every|each|and|other|given) ){0,5}"
_EARLIER = r"(?:previous|previously|prior|above|earlier|preceding|past|former|foregoing)"
_WHOSE = r"(?:(?:given|system|user|developer|safety|security|and|or) ){0,3}"
_ORDERS = r"(?:instructions?|prompts?|prompting|rules|context|directives?|guidelines|programming)"
_SAID = (
    r"(?:above|before|given|provided|from (?:the|your) (?:system|user|developer)|(?:that )?you (?:were|have been|had))"
)
_NOT = r"(?<!\bnot )(?<!\bnever )(?<!n t )"
_IGNORE = rf"{_NOT}(?:ignor(?:e|ing)|disregard(?:ing)?|forget|(?:do not|don t|stop) (?:follow|obey)(?:ing)?)"
_OVERRIDE = rf"(?:{_IGNORE}|{_NOT}(?:overrid(?:e|ing)|bypass))"
_MACHINE = (
    r"(?:ai|assistant(?! (?:professor|manager|director|coach|editor|to)\b)|chatbot|bot|language model|llm|gpt|chatgpt"
    r"|dan|hacker|jailbroken|unrestricted|unfiltered|uncensored)"
)
_SECRETS = (
    r"(?:secrets|passwords|credentials|api keys|private keys|ssh keys|access tokens|memories"
    r"|conversations?|chat history|conversation history|environment variables|personal data)"
)
_HIDDEN = (
    r"(?:system (?:prompt|message|instructions?)|(?:hidden|secret|initial|original|developer) (?:prompt|instructions?))"
)
_USER = r"(?:the |your )(?:user|human|operator)s?"

# Matched against the text's lower-case words, one space between each two: punctuation cannot separate them.
_PHRASES: tuple[_Phrases, ...] = (
    _phrases(
        "ignor disregard forget overrid bypass follow obey",
        "ignor|disregard|forget|overrid|bypass|not follow|t follow|stop follow|not obey|t obey|stop obey",
        rf"{_IGNORE} {_THE}{_EARLIER} {_WHOSE}{_ORDERS}",
        rf"{_IGNORE} {_THE}{_ORDERS} {_SAID}",
        rf"{_OVERRIDE} {_THE}(?:{_EARLIER}|existing|original|initial) {_WHOSE}(?:instructions|directives|programming)",
        rf"{_OVERRIDE} (?:all |any |of ){{0,2}}your (?:\w{{1,20}} ){{0,2}}"
        r"(?:instructions|prompt|guidelines|programming|directives|restrictions|safeguards)",
        r"(?:ignore|disregard|override) your (?:\w{1,20} )?training",
        rf"{_OVERRIDE} all (?:of )?(?:the )?instructions",
        rf"{_IGNORE} (?:everything|anything|all|what) (?:that )?(?:(?:was|is|came|has been) )?(?:said |written )?"
        r"(?:above|before this|previously (?:said|told|stated)"
        r"|you (?:were|have been|ve been) (?:told|given|instructed))",
    ),
    _phrases(
        "now",
        "you are now|from now on|do anything now",
        rf"you are now (?:(?:an?|my|called|known as|acting as) )"
        rf"(?:(?!(?:of|to|for|in|on|with|by|from) )\w{{1,20}} ){{0,3}}{_MACHINE}",
        r"you are now (?:dan|jailbroken|unrestricted|unfiltered|uncensored|evil|free from (?:all|any|your))",
        r"you are now in (?:\w{1,20} )?(?:developer|god|dan|jailbreak|unrestricted|unfiltered) mode",
        r"from now on you (?:are (?:an?|no longer)|(?:must|will) (?:act|obey|ignore|respond|answer|only))",
        r"(?:stands for|means|mode|called|as) do anything now",
    ),
    _phrases(
        "prompt instruction message directive override command",
        "your|system",
        rf"(?:reveal|print|show|output|repeat|display|leak|dump|expose|disclose|recite|paste|quote|give|tell|share|write)"
        rf" (?:(?:me|us|out|back|all|the|full|entire|exact|complete|contents?|text|of|whole) ){{0,6}}your"
        rf" (?:(?:full|entire|exact|complete|own|whole) ){{0,2}}{_HIDDEN}",
        rf"what (?:is|are|was|were) your (?:(?:exact|full|own) ){{0,2}}{_HIDDEN}",
        r"(?:your|the following|here is (?:a|the|your)|this is (?:a|the|your)) (?:new|updated|real) system"
        r" (?:prompt|message|instructions?)",
        r"new system (?:prompt|message|instructions?) (?:is|are|follows|you)",
        r"your (?:new|updated|real|actual|true) (?:instructions|directives?|system prompt) (?:is|are|follows?)",
        r"begin (?:new )?system (?:prompt|message|instructions?|override|command)",
    ),
    _phrases(
        "user human operator",
        "the user|your user|the human|your human|the operator|your operator",
        rf"(?:do not|don t|never) tell (?:this to )?{_USER}"
        r"(?! (?:what|whether|if|which|why|who|when|how|twice|again)\b)",
        rf"(?:do not|don t|never) (?:inform|alert|notify|warn) {_USER} (?:about|of|that) (?:this|these|that|you)",
        rf"(?:do not|don t|never) (?:mention|reveal|disclose) (?:any of )?(?:this|that|it|these)"
        rf" (?:\w{{1,20}} ){{0,2}}to {_USER}",
        rf"keep (?:this|that|it|these) (?:\w{{1,20}} )?(?:secret|hidden|private|concealed) from {_USER}",
    ),
    _phrases(
        "secret password credential key token memor conversation history variable data",
        "send|forward|upload|post|exfiltrate|transmit|leak|mail|append",
        rf"(?:send|forward|upload|post|exfiltrate|transmit|leak|e ?mail) (?:me )?(?:all|any|every|each)"
        rf" (?:(?:of|the|your|their|his|her|user|users|user s|stored|saved|known|private|sensitive|available) ){{0,4}}"
        rf"{_SECRETS} (?:(?:you|that|can|find|have|know|as|json) ){{0,4}}to"
        rf" (?:https?|www|(?:this|the following) (?:url|address|server|endpoint|webhook|e ?mail|site))",
        rf"append (?:all |the |any |your ){{0,2}}(?:user s |users )?{_SECRETS}"
        rf" to (?:the|this|every|each) (?:url|link|image)",
    ),
    _phrases(
        "restrict filter rules guideline censor ethic limit mode attention",
        "pretend|imagine|act as|without|you have no|bound by no|dan mode|jailbreak mode|unrestricted mode"
        "|unfiltered mode|attention all|attention ai",
        r"(?:pretend|imagine|act as (?:if|though)) (?:that )?you (?:are not bound|have no|don t have|do not have)"
        r" (?:by )?(?:any )?(?:\w{1,20} ){0,2}(?:restrictions?|filters?|rules|guidelines|limits|limitations)",
        r"(?:answer|respond|reply) without (?:any |your )?(?:\w{1,20} )?(?:restrictions|censorship|filters?|ethical)",
        r"you (?:have|are bound by) no (?:\w{1,20} )?(?:restrictions|ethical|content filters?)",
        r"(?:enter|enable|activate|switch to) (?:dan|jailbreak|unrestricted|unfiltered) mode",
        r"attention (?:all (?:ais?|llms?|language models?|ai \w{1,20})|ai (?:assistants?|agents?))",
    ),
    _phrases(
        "anweisung instruccion instruction consigne istruzioni",
        "ignor|vergiss|vergessen|missachte|oublie|olvid|dimentica",
        r"(?:ignorier(?:e|en sie|t)|vergiss|vergessen sie|missachte) (?:\w{1,20} ){0,2}"
        r"(?:vorherigen|bisherigen|vorigen|früheren|obigen) (?:\w{1,20} ){0,1}anweisungen",
        r"(?:ignore[zr]?|oublie[zr]?) (?:\w{1,20} ){0,2}(?:instructions|consignes) (?:précédentes|antérieures)",
        r"(?:ignora|ignore|olvida|olvide) (?:\w{1,20} ){0,2}(?:instrucciones) (?:anteriores|previas)",
        r"(?:ignora|dimentica) (?:\w{1,20} ){0,2}(?:istruzioni) precedenti",
    ),
)

# Matched against the lower-case text itself: these are made of its punctuation.
_MARKERS: tuple[_Family, ...] = (
    (
        ("|>",),
        re.compile(
            r"<\|\s{0,3}(?:im_start|im_end|im_sep|system|user|assistant|eot_id|(?:start|end)_header_id)\s{0,3}\|>"
        ),
    ),
    (("inst]", "<<sys"), re.compile(r"\[/?inst\]|<</?sys>>")),
    (
        ("system", "assistant"),
        re.compile(
            r"^[ \t>*]{0,8}#{1,6}[ \t]{0,3}(?:system|assistant)(?: (?:prompt|message|instructions?))?[ \t]{0,3}:"
            r"|^[ \t>*\[(<]{0,8}(?:system|assistant)[ \t\])>*]{0,4}:[ \t*]{0,8}(?:you (?:are|must|will)|ignore"
            r"|disregard|forget|override|new instruction)"
            r"|</?system[-_ ](?:prompt|message|instruction|override)s?>"
            r"|^[-=*#\[<( \t]{0,20}(?:begin|end) system(?: (?:prompt|message|instructions?))?[-=*#\]>) \t]{0,20}$"
            r"|^[ \t>*#\[(]{0,8}new system (?:prompt|message|instructions?)\b[ \t*\])]{0,4}[:=—–-]",
            re.MULTILINE,
        ),
    ),
    (("](http",), re.compile(r"!\[[^\]\n]{0,200}\]\(https?://[^)\s]{1,500}=(?:\{|\[|<|%7b|\$)")),
)

_INVISIBLE = dict.fromkeys(
    point
    for first, last in (
        *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E)),
        *((0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0000, 0xE007F)),
    )
    for point in range(first, last + 1)
)
_LOOKALIKE = dict(zip(map(ord, "аеорсухіѕјԁһΑΕΟοιАЕОРСУХІЅЈ"), "aeopcyxisjdhaeooiaeopcyxisj", strict=True))
_UNSEEN = _INVISIBLE | _LOOKALIKE
_UNSEEN_CHARACTERS = frozenset(map(chr, _UNSEEN))
_WORD = re.compile(r"[^\W_]+")


def is_adversarial(text: str) -> bool:
    """Whether a text gives orders to the model that reads it ("ignore previous instructions" and its kin).

    Case, punctuation or line breaks between words, invisible characters, full-width and look-alike letters do not
    hide a phrase. A text that only quotes such a phrase counts as well: it is as dangerous to a careless reader.
    """
    folded = text.lower() if text.isascii() else _fold(text)
    for keys, marker in _MARKERS:
        if _holds_any(folded, keys) and marker.search(folded):
            return True
    due = [each for each in _PHRASES if _holds_any(folded, each.keys)]
    if not due:
        return False
    words = " ".join(_WORD.findall(folded))
    return any(_holds_any(words, each.turns) and each.pattern.search(words) for each in due)


def _holds_any(text: str, words: tuple[str, ...]) -> bool:
    """Every text that is stored comes by here: a plain loop takes a third of the time."""
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _fold(text: str) -> str:
    if not _UNSEEN_CHARACTERS.isdisjoint(text):  # few have any, and a translation takes much longer than the look
        text = text.translate(_UNSEEN)
    return unicodedata.normalize("NFKC", text).casefold()
