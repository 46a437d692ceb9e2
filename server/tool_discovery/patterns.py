"""What people say when they want a tool: patterns over a task in plain words. Pure, and data more than code.

A row: tool, action if it has one, weight (3: says it outright, 2: very likely, 1: perhaps), and the pattern. Patterns
look at a few words around each other only, so that no text makes them slow.
"""

# ruff: noqa: E501  nobody reads a pattern that is broken over lines

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

TASK_CHARACTERS = 300
"""Max characters of a task that are searched."""

NEAR = r"(?:\W+(?:\w+\W+){0,5}?)"
"""Matches up to five words between two others."""


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A tool a task's words name. ``score`` is up to 1."""

    tool: str
    action: str | None
    score: float


def find_matches(task: str) -> dict[str, ToolMatch]:
    """The tools whose patterns the task fits, each with the best of its actions."""
    text = task[:TASK_CHARACTERS].casefold()
    found: dict[str, ToolMatch] = {}
    for tool, action, weight, pattern in _compile_patterns():
        score = weight / 3
        if (tool not in found or found[tool].score < score) and pattern.search(text):
            found[tool] = ToolMatch(tool, action, score)
    return found


@lru_cache(1)
def _compile_patterns() -> tuple[tuple[str, str | None, int, re.Pattern[str]], ...]:
    return tuple(
        (tool, action, weight, re.compile(rf"\b(?:{pattern.replace('~', NEAR)})", re.IGNORECASE))
        for tool, action, weight, pattern in _rows()
    )


def _rows() -> Iterable[tuple[str, str | None, int, str]]:
    return (*MEMORY, *WORK, *NOTES, *MANY, *GRAPH, *SERVER)


_CHANGE = r"(?:renam\w+|chang\w+|replac\w+|migrat\w+|unif\w+|normali[sz]\w+|standardi[sz]\w+)"
_FIND = r"(?:find|list|show|which|what|search|look|any|all|count|get)"
_FIELD = r"(?:fields?|propert(?:y|ies)|frontmatter|yaml|keys?|metadata|status(?:es)?|attributes?)"
_LINKS = r"(?:links?|wikilinks?|backlinks?|references?)"
_EVERY = r"(?:everywhere|all (?:the |my )?notes|every note|across|vault|many notes|whole)"

# Which tool, which action, how surely, by which words. "~" stands for up to five words.
MEMORY = (
    ("remember", None, 3, r"remember (?!when|what|where|how|who)"),
    ("remember", None, 2, r"(?:keep|store|save|note down|write down|memori[sz]e)~(?:for later|facts?|decisions?|lessons?|preference\w*|memor(?:y|ies)|mind)"),
    ("remember", None, 3, r"(?:for the future|for next time|from now on|note to self|keep in mind)"),
    ("recall", None, 3, r"(?:do|does) (?:we|i|you|anybody|anyone)~(?:have|know)~(?:knowledge|anything|something|about|on)\b"),
    ("recall", None, 2, r"(?:what|when|why|how|where|did)~(?:we|i|team|somebody)\W+(?:decide|agree|learn|say|choose|do about|know)\w*"),
    ("recall", None, 3, r"recall\b|(?:what do (?:we|i|you) (?:know|remember)|(?:find|search|look up)~memor(?:y|ies))"),
    ("recall", None, 2, r"(?:have|had|did) (?:we|i|you|they|somebody)~(?:talk\w*|discuss\w*|see|seen|tr(?:y|ied)|used?|decided?|done|do|meet|met|hear\w*)\b"),
    ("memory_get", None, 2, r"(?:read|open|get|show)~memor(?:y|ies)~(?:id|ids|whole|full)"),
    ("memory_update", None, 3, r"(?:change|edit|update|fix|retag|correct)~memory(?:'s)?\b"),
    ("memory_forget", None, 3, r"forget\b|(?:delete|remove|purge|erase|archive|drop)~memor(?:y|ies)"),
    ("memory_supersede", None, 3, r"(?:supersede|replace|outdated|no longer true|obsolete)~memor(?:y|ies)|memor(?:y|ies)~(?:outdated|obsolete|no longer true|replaced?)|supersede"),
    ("memory_list", None, 3, r"(?:list|page through|browse|enumerate|all)\W+(?:\w+\W+){0,3}?memories"),
    ("memory_link", None, 3, r"(?:link|connect|relate|tie)~memor(?:y|ies)~(?:memor\w+|notes?|each other|another|person|entity|together)|(?:connect|link|relate) (?:two |these )?memories"),
    ("corrections", "record", 3, r"(?:correct(?:ed|s)|corrects?) (?:me|us|you)\b|(?:that is|that's|this is|was) wrong|record~corrections?|user~says~(?:wrong|mistaken)"),
    ("corrections", "record", 2, r"(?:is|was|are|were)\W+(?:\w+\W+)?(?:false|incorrect|not true|untrue|mistaken|inaccurate)\b"),
    ("corrections", "list", 3, r"(?:open|list|which|what|show)~corrections?|what~(?:is|was) (?:known to be )?wrong"),
    ("corrections", "resolve", 3, r"(?:resolve|close|settle)~corrections?"),
)  # fmt: skip
WORK = (
    ("context", None, 2, r"(?:brief|briefing|catch me up|get up to speed|bring me up to speed|whole picture|background|context)\b"),
    ("session_resume", None, 3, r"(?:resume|continue|pick up|go on)~(?:session|where|work|left|yesterday)|what~(?:last|previous|earlier) session|left off"),
    ("session_save", None, 3, r"(?:save|end|close|finish|wrap up)~(?:session|where i (?:stand|stopped|am)|progress|for today)|(?:before i|i am) (?:stop|done|finished|leaving)"),
    ("session_history", None, 3, r"(?:which|what|who)~(?:agents?|people|colleagues?|persons?)~(?:active|worked|did|busy)~(?:on|in|last|yesterday)\b"),
    ("session_history", None, 3, r"(?:past|earlier|previous|old|history of)\W+(?:\w+\W+){0,2}?sessions|who (?:did|worked|has done) what|what~(?:happened|was done|got done|did~do)~(?:yesterday|last|week|month|today|monday|friday)"),
    ("handoff_create", None, 3, r"hand(?:ing)?\W?(?:\w+\W+){0,4}?(?:over|off)\b(?!~(?:for me|waiting|left))|handover|pass~(?:work|task)~(?:on|to)|leave~work~for"),
    ("handoff_create", None, 3, r"(?:colleague|somebody|someone|team\W?mate|(?:other|another|next) (?:agent|person)|successor)~(?:go on|goes on|continue\w*|take over|takes over|carry on|finish)\b"),
    ("handoff_create", None, 3, r"(?:leave|write|give)~(?:instructions?|message|word|work)~(?:next|other|another) (?:agent|person|session)"),
    ("handoff_load", None, 3, r"(?:take|load|accept|pick up|is there|open|waiting|any)~(?:handoff|hand\W?over|handed)|(?:handoff|work)~(?:waiting|left)~(?:for me|me)"),
    ("claims", "list", 3, r"who(?:'s| is| else is)?~(?:working|works|editing|busy|at work|touching|changing)|(?:is )?(?:anyone|anybody|somebody|someone)(?: else)?~(?:working|editing|changing|on it)"),
    ("claims", "claim", 3, r"(?:claim|reserve|lock)\b~?|tell~others~(?:i am|i'm|that i)~(?:working|changing|editing)|avoid~(?:collision|conflict|stepping|clash)\w*"),
    ("claims", "release", 3, r"(?:release|give back|unlock|free)~(?:claims?|files?|resources?|locks?)"),
    ("threads", "list", 3, r"(?:lines? of work|threads?|workstreams?)\b|what~work~(?:open|under way|in progress)"),
    ("checkpoint", None, 3, r"checkpoint|(?:keep|save|store|snapshot)~state\b|milestone|before~risky"),
)  # fmt: skip
NOTES = (
    ("note_read", None, 3, r"(?:read|open|show|outline of|look at|view)~(?:notes?|page|section|headings?|markdown)\b"),
    ("fetch", None, 3, r"(?:fetch|read|open|get)~(?:whole|full|entire|complete|glob|several|many)\b|(?:text|content) behind|whole (?:text|document|file)"),
    ("search", None, 2, r"(?:search|look for|find)~(?:everything|everywhere|documents?|code|transcripts?|text|word|phrase|mention\w*|similar|vault)|full.?text|similar to"),
    ("search", None, 1, r"(?:search|find|look for|look up)\b"),
    ("find_notes", None, 3, rf"(?:{_FIND})~notes~(?:tag\w*|folder|changed|modified|created|edited|with|whose|by|since|from|called|named|this week|last|status)|notes (?:by|in|tagged|changed|modified)|recent(?:ly)? (?:changed |edited )?notes"),
    ("note_write", None, 3, r"(?:create|make|new|write|start|draft|overwrite)\W+(?:\w+\W+){0,3}?(?:notes?|page|document)\b(?! from memory)|from (?:a|the|my) template"),
    ("note_edit", None, 3, r"(?:append|add|insert|prepend|log|edit|change|fix|replace|remove|correct)~(?:section|line|paragraph|sentence|text|entry|bullet|daily note|journal|note|word|typo|today)\b"),
    ("note_move", None, 3, r"(?:move|rename|relocate|reorgani[sz]e)~(?:notes?|files?|page)\b|(?:move|put|file)~(?:notes?|page)~(?:folder|into|to)"),
    ("note_move", None, 3, r"(?:put|file|shift)~(?:notes?|files?|page)~(?:folder|directory)\b"),
    ("note_delete", None, 3, r"(?:delete|remove|trash|get rid of|erase)\W+(?:\w+\W+){0,3}?(?:notes?|page|file)\b(?!~(?:tag|property|field))"),
    ("note_delete", None, 2, r"(?:bin it|trash it|discard|throw~away|scrap)\b"),
    ("frontmatter_update", None, 3, rf"(?:set|add|change|update|remove|unset|give|put)\W+(?:\w+\W+){{0,3}}?{_FIELD}(?!~{_EVERY})"),
    ("frontmatter_update", None, 2, r"(?:mark|flag)~as\b"),
    ("tasks", "list", 3, r"(?:todo|to-do|tasks?)\b~?(?:open|due|overdue|list|left|undone|this week|today)|(?:list|show|which|what|open|overdue|due|find)\W+(?:\w+\W+){0,3}?(?:todos?|to-dos?|tasks?)\b"),
    ("tasks", "add", 3, r"(?:add|create|new|make|write)\W+(?:\w+\W+){0,3}?(?:todos?|to-dos?|tasks?)\b"),
    ("tasks", "add", 3, r"(?:put|add|write)~(?:on|to) (?:my|the|our)\W+(?:\w+\W+)?list\b|remind (?:me|us)"),
    ("tasks", "toggle", 3, r"(?:tick|check|toggle|complete|finish|mark|close)\W+(?:\w+\W+){0,4}?(?:off|todos?|to-dos?|tasks?|done)\b"),
    ("history", "undo", 3, r"undo\b|take back|revert|roll ?back|restore|(?:bring|get)~(?:back|previous|deleted|earlier version)"),
    ("history", "undo", 3, r"(?:old|previous|earlier|last|former) version|(?:broke|messed|destroyed|lost|ruined)~(?:notes?|edits?|page|text|changes?)\b"),
    ("history", "log", 3, r"revisions?\b|(?:earlier|previous|old|past|former|prior) versions"),
    ("history", "log", 3, r"(?:who|what)~(?:changed|edited|touched|modified|wrote)~(?:this|that|the|a|my)?\W*(?:note|page|file)|(?:history|versions?|changes) of~(?:note|page|file)|diff\b"),
)  # fmt: skip
MANY = (
    ("schema", "rename_tag", 3, rf"{_CHANGE}~(?:#\w+|tags?|hashtags?)\b"),
    ("schema", "rename_tag", 3, r"(?:want|make|turn|have|let)\W+#\w+"),
    ("schema", "rename_field", 3, rf"renam\w+~{_FIELD}|{_FIELD}~renam\w+"),
    ("schema", "migrate", 3, rf"{_CHANGE}~(?:values?|spellings?|type)~{_FIELD}|(?:{_CHANGE}|set|turn|convert)~{_FIELD}~{_EVERY}|(?:convert|migrat\w+|unif\w+)~{_FIELD}"),
    ("schema", "field_values", 3, rf"(?:which|what|list|all)\W+(?:\w+\W+){{0,2}}?values~(?:{_FIELD}|have|has|there|used)|values of"),
    ("schema", "validate", 3, rf"(?:validate|check|lint|violat\w+|missing|inconsistent|wrong)~(?:{_FIELD}|schema|conventions?)"),
    ("schema", "conventions", 3, r"conventions?\b|(?:how|what)~(?:usually|normally|usual)~(?:notes|nam\w+|tag\w*|fields?|files?)|naming (?:pattern|scheme)"),
    ("schema", "overview", 3, rf"(?:which|what|list|overview of|all)\W+(?:\w+\W+){{0,2}}?(?:{_FIELD}|tags)~(?:there|exist|used|use|have|vault|notes)|all (?:the )?tags|tags in|schema\b"),
    ("schema", "folders", 3, r"(?:folder|directory) (?:tree|structure|layout)|(?:which|what|list)\W+(?:\w+\W+){0,2}?folders"),
    ("policies", "execute", 3, r"(?:run|execute|carry out|do|start|perform)~(?:policy|polic(?:y|ies)|procedure|playbook|runbook|routine|workflow|recipe|weekly review|review)\b"),
    ("policies", "list", 3, r"(?:polic(?:y|ies)|procedures?|playbooks?|runbooks?|workflows?)\b"),
    ("policies", "author", 3, r"(?:write|author|create|define|revise|automate)~(?:polic(?:y|ies)|procedures?|playbooks?|runbooks?|workflows?|chore|routine)"),
    ("insights", "staleness", 3, r"(?:stale|outdated|neglected|not (?:kept|updated)|rotten|old)~notes|notes~(?:stale|outdated|neglected|out of date|not updated|need updating)"),
    ("insights", "staleness", 3, r"(?:nobody|no one|not|never)~(?:touched|updated|read|edited|maintained)~(?:for|in|since|months?|years?)\b|need\w* maintenance"),
    ("insights", "evolution", 3, r"(?:evol\w+|develop\w*|chang\w+)~over time|how (?:did|has)~(?:come about|evolve\w*|develop\w*|change\w*|grow\w*)|evolution"),
    ("insights", "growth", 3, r"(?:growth|grew|grown|growing)\b|how (?:much|many)~(?:per|by|a|each) (?:day|week|month)"),
    ("insights", "context", 3, r"what~(?:going on|happening|went on)~(?:around|on|in|at)\b"),
    ("insights", "note_intelligence", 3, r"(?:everything|all) (?:we |that is |there is )?(?:know|known)~(?:about|of) (?:this|the|a) note|note intelligence"),
)  # fmt: skip
GRAPH = (
    ("graph", "backlinks", 3, r"(?:what|which|who|notes?)\W+(?:\w+\W+){0,3}?(?:links?|points?|refers?|mentions?) (?:here|to)\b|backlinks?|linked from|links? (?:in)?to (?:this|that|the|a|my) "),
    ("graph", "forward_links", 3, r"(?:what|where|which)~(?:does|do)~link\b|(?:forward|outgoing|out)\W?links?"),
    ("graph", "analyse", 3, r"(?:nothing|nobody|no (?:other )?notes?)~(?:links?|points?|refers?|mentions?)\b"),
    ("graph", "path", 3, r"(?:how|path|connection|connected|relation\w*|relate\w*|hang together)~(?:between|connect\w*|related)|shortest path|path (?:from|between)|how~(?:related|connected|hang)"),
    ("graph", "neighbors", 3, r"neighbou?r\w*|(?:around|near|close to|surround\w*)~notes?\b"),
    ("graph", "analyse", 3, r"orphan\w*|dead ends?|hubs?\b|central\w*|(?:structure|shape|analy[sz]e)~(?:vault|graph|notes)|most (?:linked|connected|important) notes?|unlinked notes?"),
    ("graph", "export", 3, r"(?:draw|picture|svg|mermaid|graphml|export|diagram|visuali[sz]e|map of|plot)~?(?:\w+\W+){0,3}?(?:graph|links?|notes|vault|network)\b|mermaid|graphml"),
    ("graph", "cooccurrence_gaps", 3, r"(?:appear|occur|mentioned|belong)\W+together~(?:not|without|no)"),
    ("links", "validate", 3, rf"(?:broken|dead|dangling|wrong|unresolved|invalid)\W+(?:\w+\W+){{0,2}}?{_LINKS}|(?:check|validate|repair|fix)~{_LINKS}"),
    ("links", "suggest", 3, rf"(?:suggest|propose|recommend|add|missing|set|find)\W+(?:\w+\W+){{0,3}}?{_LINKS}|(?:what|where)~(?:should|could)~link\b|link up"),
    ("links", "unlinked", 3, r"unlinked (?:mention|reference)s?|mention\w*~(?:without|not) (?:a )?link\w*"),
    ("links", "stubs", 3, r"stubs?\b|(?:notes|pages)~(?:do not|don't|not) exist\w*|(?:linked|wanted) but missing"),
    ("entities", "merge", 3, r"merg\w+~(?:notes?|pages?|entit(?:y|ies)|people|person|duplicates?|two)|(?:two|duplicate)\W+(?:\w+\W+){0,2}?(?:notes|pages|entries|entities)~(?:same|one|merge)"),
    ("entities", "merge", 3, r"(?:are|is)~(?:the same|one|one and the same|same) (?:person|people|thing|company|project|entity|team)\b"),
    ("entities", "merge", 3, r"(?:are|is)~duplicates?\b|duplicate (?:people|persons|entities|names)"),
    ("entities", "alias", 3, r"alias\w*|(?:other|another|second|nick) ?names?~(?:for|of)|also (?:known|called)"),
    ("entities", "list", 3, r"entit(?:y|ies)\b|(?:which|what|list|all|who are)\W+(?:\w+\W+){0,2}?(?:people|persons|companies|projects|things)~(?:there|known|know|mention\w*|vault)"),
)  # fmt: skip
SERVER = (
    ("explain", None, 3, r"(?:why|explain)~(?:search|recall|found|find|rank\w*|result\w*|hits?|missing|pack|first)|how~(?:ranked|scored)"),
    ("explain", None, 2, r"(?:not|didn't|doesn't|never)~(?:come up|comes up|found|show up|shows up|appear\w*|returned)\b"),
    ("usage", None, 3, r"(?:how much|how many)~(?:cost\w*|tokens?|calls?|sav\w+|use\w*)|(?:token|tool) (?:usage|cost|use|spend)|cost of|savings?\b|tidy~memor\w+"),
    ("feedback", None, 3, r"(?:report|file|send|give|tell|leave)~(?:bugs?|feedback|complain\w*|issue|nuisance|feature|wish|developers?|maintainers?)|feature request|wrong tool"),
    ("doctor", "diagnosis", 3, r"(?:diagnos\w*|troubleshoot\w*|health|unhealthy|broken vault|corrupt\w*|what is wrong|something~(?:fails|failed|slow)|so slow|is slow|errors? in the log|server log)"),
    ("doctor", "config", 3, r"(?:settings?|configur\w+)~(?:server|vault|strongroom|show|are)|(?:show|which|what)~(?:settings?|configuration)"),
    ("backup", "run", 3, r"back(?:ing)? ?(?:this |the )?(?:vault )?up\b|back-?ups?\b|(?:make|take|write) (?:an? )?archive of"),
    ("reindex", None, 3, r"re-?index\w*|(?:rebuild|renew|refresh|recreate)~index|index~(?:anew|again|rebuilt|rebuild|stale|broken)"),
    ("reindex", None, 3, r"index~(?:corrupt\w*|damaged|out of date|outdated|wrong|incomplete)\b"),
    ("vaults", "create", 3, r"(?:create|make|new|add|archive)\W+(?:\w+\W+){0,2}?vaults?\b"),
    ("vaults", "list", 3, r"(?:which|what|list|other|all|my|switch)\W+(?:\w+\W+){0,2}?vaults\b"),
    ("status", None, 3, r"status of (?:the |this )?(?:vault|server|index|memory|embedding\w*)|(?:how big|size of|how many (?:notes|memories))|who am i|my (?:role|permissions|limits|plan|quota)|pending"),
    ("discover_tools", None, 2, r"(?:which|what) tools?\b|tool for"),
)  # fmt: skip
