"""How something is settled: by a person in their own words, by their answer to an offer, or by the agent with a
reason."""

from __future__ import annotations

import re

from vaults.transcripts.extraction.spoken_text import words_of
from vaults.transcripts.extraction.statement_rules import StatementRule

_LEAD = (
    r"^(?:(?:ok(?:ay)?|right|good|great|yes|yep|yeah|perfect|nice|fine|then|and|so|also|agreed|sure|hm+|ah|no|cool"
    r"|alright|gut|ja|dann|also|super|mind)[,.! –—]+)*(?:then |please |just |bitte )?"
)
_CONTRAST = (
    r"(?:instead of|rather than|not |over |and not|never|, the |because|since|so that|until|only|at least|at most"
    r"|statt|anstatt|weil|nicht)"
)
_LATER = re.compile(
    r"\b(?:myself|later|tomorrow|some other time|check (?:back|again)|let me know|let's see|let's (?:plan|look"
    r"|think|start|talk|say)|if |unless"
    r"|not sure|maybe|perhaps|might|could|i think we|vielleicht|morgen|später|falls)\b"
)
_DOING = (
    r"(?:read|look|check|run|start|search|grep|open|see|try to|first|now|begin|inspect|explore|list|find|verify"
    r"|investigate|add|fix|write|update|create|leave|do that|stop|change)"
)

DECISION_RULES: tuple[StatementRule, ...] = (
    StatementRule(
        "said-decided",
        "decision",
        re.compile(
            r"\b(?:decision|entscheidung): ?\S|\b(?:i|we)(?:'ve| have)? (?:decided|settled|agreed|chose|went with"
            r"|are going with|'re going with)\b"
            r"|\b(?:we're|we are|i'm|i am) (?:going with|dropping|moving to|switching to|sticking with|keeping"
            r"|not (?:using|doing) \w+ (?:any ?more|at all|here))\b"
            r"|\b(?:wir haben uns|ich habe mich) [^?]{0,40}entschieden\b|\bbeschlossen\b"
        ),
        words_of(
            "decision entscheidung decided settled agreed chose went going dropping moving switching sticking"
            " keeping not entschieden beschlossen"
        ),
        0.5,
        speakers=("user", "agent"),
        unless=re.compile(
            r"\b(?:incorrect|because (?:we're|i'm) not)\b|\b(?:haven't|have not|not yet|nicht|should be) decided"
            r"|\b(?:if|whether)\b|\bdecided by\b|\bnot going to\b"
        ),
    ),
    StatementRule(
        "let-us",
        "decision",
        re.compile(
            r"\b(?:let'?s|lets) (?:just |then |not )?(?:go (?:with|for)|use|keep|stay|stick|drop|skip"
            r"|switch to|call (?:it|them)|try \w+ (?:in|for|first|instead)|rename \S+ \S* ?to|make it"
            r"|do \S+ (?:instead|only|first))\b"
            r"|\b(?:nehmen|machen|lassen|bleiben|schalten|verwenden|nutzen|behalten) wir\b|\b(?:wir|ich) (?:nehmen?"
            r"|bleiben?|behalten?|verwenden?|lassen?) (?!noch)\w+"
        ),
        words_of("let's lets wir ich"),
        0.83,
        unless=re.compile(
            rf"{_LATER.pattern}|\bdo (?:it|that|this)[.!]?$|\blet's do (?:that|it|this)\b|\btake (?:a"
            rf"|another) (?:\w+ )?(?:step|look|break)\b"
        ),
    ),
    StatementRule(
        "we-will",
        "decision",
        re.compile(
            r"\b(?:we'?ll|we will|we should|we want|i'?ll|i will|i want) (?:go (?:with|for|back)|use|take|keep"
            r"|report|put|store|stay|drop|skip|do the|to save|ship)\b"
            r"|\bi want (?:the )?(?!(?:them|it|this|that|you) )\w+ to \w+|\bi want to \w+ at (?:least|most)\b"
            r"|\b(?:ok|okay|then|so|right),? (?:i'll|we'll) (?:do|take|go)\b"
        ),
        words_of("we'll well we i'll ill i"),
        0.75,
        unless=re.compile(
            rf"{_LATER.pattern}|\bi want (?:you|to (?:see|know|understand|test|check|be sure|make sure))\b"
            rf"|\bwe (?:want|need) (?:a|to test|to make sure)\b"
        ),
    ),
    StatementRule(
        "stays-with",
        "decision",
        re.compile(
            rf"{_LEAD}(?:we |i )?(?:stay|stick|remain|leave|keep|skip|drop|dedupe|raise|lower|bump|renew|cap|limit"
            rf"|nimm|bleib|lass) [^?]*(?:\d|{_CONTRAST}|,)|{_LEAD}(?:we |i )?(?:use|take|make|set|switch|change"
            rf"|move) [^?]*(?:\d|instead of|rather than|\bnot |\bover |because|since)|{_LEAD}(?:stay|stick"
            rf"|go) (?:on|with|for) \S|{_LEAD}leave \w+ (?:for now|as (?:it )?is|alone|out)|{_LEAD}(?:skip|drop"
            rf"|keep|leave out|stay with) (?:the )?\w+[.!]?$"
        ),
        words_of(
            "go stay stick remain leave keep skip drop dedupe raise lower bump use take renew make set switch cap"
            " limit change move nimm bleib lass"
        ),
        0.89,
        unless=re.compile(rf"{_LATER.pattern}|\b(?:it|that) for tomorrow\b|\bmake sure\b|\btake a look\b"),
        is_reply=True,
    ),
    StatementRule(
        "accepted-so",
        "decision",
        re.compile(
            r"^(?:ok(?:ay)?|yes|yep|yeah|sure|right|good|great|agreed|ja)[,.! ]+(?:use|take|go with|nimm) (?:that"
            r"|this|it|das|den)\b"
            r"|^(?:ok(?:ay)?|yes|yep|yeah|sure|right|good|agreed)[,.! ]+(?:do|make) (?:that|this|it)[,:] (?:\w+ ){2,}"
            r"|^(?:(?:ok(?:ay)?|yes|yep|great|good|agreed|then|fine)[,.: ]+)?(?:max |about "
            r"|only )?\d[\w.,%]* [^?]{2,60}$|^(?:yes|yep|agreed)[,: ]+(?:\w+ ){0,3}\w*\d\w*\b"
        ),
        words_of("that this it das den 0 1 2 3 4 5 6 7 8 9"),
        0.71,
        unless=re.compile(
            rf"{_LATER.pattern}|\b(?:error|errors|line|tests?|fail|failed|warnings?|passed|pass|calls|changed|is"
            rf"|was|are)\b"
        ),
        is_reply=True,
    ),
    StatementRule(
        "has-to-be",
        "decision",
        re.compile(
            r"\b(?:must|has to|have to|needs to) (?:be|last|run|cost|take|stay|come) [^?]*(?:\d|impossible"
            r"|possible|last|first|at the|in the|per |only|hourly|daily|weekly)"
            r"|\bshould (?:be|last|run|cost|take|stay) [^?]*(?:\d|impossible|only|hourly|daily|weekly|at (?:most"
            r"|least))|\bgo(?:es)? out (?:on|at|every)\b|\bper-\w+ (?:\w+ )?only\b|\b(?:ones|rest|others?) (?:stays?"
            r"|remains?) \w+|\b(?:we|i) should use [^?]*(?:/?\d|instead|not|rather)"
        ),
        words_of("must has have needs should out only stay stays remain remains"),
        0.75,
        unless=re.compile(rf"{_LATER.pattern}|\bi (?:have|need) to\b"),
    ),
    StatementRule(
        "it-is",
        "decision",
        re.compile(
            r"^(?:ok(?:ay)?|right|good|great|yes|fine|perfect|then|so|alright"
            r"|agreed)[,.: –—]+(?:then )?[^?]{2,60} (?:it is|then|is fine|wins)[.!]?$"
            r"|^(?:ok|okay|so|great|good)[,: ]+(?:no |so )?[\w .,+-]{1,50} then[.!]?$|\bso (?!that|far|much|many|it"
            r"|the|we|i)\w+[.!]?$|^agreed[,.: ]+\w+"
        ),
        words_of("is then wins so agreed"),
        0.8,
        unless=re.compile(
            r"\bit is (?:not|n't|a|the)\b|\bso (?:far|good|cool|bad|nice|slow)\b|^(?:ok|okay)[,.! ]+(?:then|thanks)\b"
        ),
    ),
    StatementRule(
        "agent-chose",
        "decision",
        re.compile(
            rf"\b(?:i (?:went|chose|opted|decided)|i'll (?:go with|use|keep|stay)|we'll (?:go with|use|keep)"
            rf"|i've (?:chosen|decided|gone)|i am using|i'm using)\b(?! {_DOING}\b)[^?]*\b(?:because|instead of"
            rf"|rather than|over|since|so that|which avoids)\b"
            r"|\b(?:going|go) with [^?]* (?:because|over|instead of|rather than) "
        ),
        words_of("i i'll we'll i've i'm going go"),
        0.5,
        speakers=("agent", "thinking"),
    ),
    StatementRule(
        "thought-better",
        "decision",
        re.compile(
            r"\b(?:so |will |i'll |i should |should |better to |best to |let me |let's )(?:use|go with|keep|prefer"
            r"|take) [^?]*\b(?:rather than|instead of|not|over) \S"
        ),
        words_of("use go keep prefer take"),
        0.67,
        speakers=("thinking",),
    ),
)
"""In the order in which they are tried: the first that fits names the memory."""

OFFER = re.compile(
    r"\b(?:which|or|options?|either|prefer|should (?:it|the|they|this|there)|what (?:value|name|size|limit|title"
    r"|colou?r|format|level)|how (?:many|long|large|often)"
    r"|lean towards|better fit|i'd (?:go|suggest|recommend|cap|raise|keep|use)|you could|alternatives?|two ways"
    r"|welche[rs]?|oder|soll(?:en)? (?:die|der|das|es|sie)|entweder)\b|^\s*(?:\d[.)]|[a-c]\))\s"
)
"""What an agent says when something is the person's to choose."""

PERMISSION = re.compile(
    r"\b(?:would you like|let me know|shall i|should i|do you want me to|want me to|may i|can i|soll ich|darf ich"
    r"|möchtest du|anything else|ready to proceed|could you (?:please )?(?:provide|clarify|share|tell|confirm)"
    r"|more context)\b"
)
"""Questions that ask for leave to do the next step, or what the next step is: a reply to them is a task, no"
" decision for
later."""

CHOICE_QUESTION = re.compile(
    r"\b(?:which (?:one|of|do|would)|what (?:value|name|size|limit|title|colou?r|format|level)"
    r"|or (?:should|would|do|the|just|keep|change|raise|lower)|welche[rs]?)\b"
)
"""What makes such a question one of choosing after all."""

NO_ANSWER = re.compile(
    r"^(?:thanks?|thank you|thx|ty|danke|merci|gracias|great|nice|cool|perfect|good|lovely|wow|haha?|lol|sure"
    r"|works?|ok(?:ay)?|yes|yep|yeah|no|nope|ja|nein|gut|top|super"
    r"|do it|go ahead|please do|go on|continue|weiter|mach das|bye|hm+|uh+|lgtm|ship it|push it|👍)[.! ,…]*(?:thanks"
    r"|thx|work|danke|please|do it|it|go ahead)?[.! …]*$"
    r"|^@|\b(?:do it|yourself|proceed|mark|meant|specifically|i don't (?:know|think|like)|i think|not sure"
    r"|no (?:idea|opinion)|don't know|let me|let's|lets"
    r"|never ?mind|later|tomorrow|maybe|how|what|why|when|where|can you|could you"
    r"|go ahead|make sure|please|git|npm|try|create|fix|remove|delete|move|rename|start|simplify|refactor|test"
    r"|check|review|commit|read|add|update|did|do this|do that|seems?|wrong|you"
    r"|does|is it|still|errors?|fails?|failed|show me|explain|run|push|write|send|it says|see|look|i have to"
    r"|muss ich|morgen)\b"
)
"""Replies that settle nothing: thanks, a bare yes, another question, task or request, an error that came up."""

ANSWERED = StatementRule("answered-offer", "decision", re.compile(""), frozenset(), 0.83)
"""A short reply to an offer of the agent's: what it means stands in both."""
