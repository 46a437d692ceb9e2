"""How people say what is to hold from now on. Only what a person said is read by these."""

from __future__ import annotations

import re

from vaults.transcripts.extraction.spoken_text import words_of
from vaults.transcripts.extraction.statement_rules import StatementRule

_START = (
    r"(?:^|[,.:;–—-] |\b(?:and|but|also|please|so|then|und|aber|bitte|btw|ok|okay|yes|no|good|great|thanks|careful"
    r"|generally|last thing) )"
)
_FOR_NOW = re.compile(
    r"\b(?:for now|right now|just now|not today|yet|for the moment|this time|this once|until|at the moment|heute"
    r"|erstmal|vorerst|don't worry|for the time being|first, )\b|\bi always (?:forget|get|mix|wonder|lose|thought)\b"
)
_NO_ORDER = (
    r"(?:worry|know|think|mind|see|care|have|need|get|forget|remember|understand|like|believe|want|be sorry|bother"
    r"|expect|hesitate|feel|bothered|ask me|apologi[sz]e|panic)"
)

PREFERENCE_RULES: tuple[StatementRule, ...] = (
    StatementRule(
        "from-now-on",
        "preference",
        re.compile(
            r"\b(?:from now on|from here on|going forward|in future(?: runs?)?\b|next time"
            r"|in every (?:repo|project|file|dag|session)"
            r"|as a rule|ab (?:jetzt|sofort)|in zukunft|künftig|beim nächsten mal|nächstes mal|grundsätzlich)\b"
        ),
        words_of("from going future next rule every jetzt sofort zukunft künftig mal grundsätzlich"),
        0.6,
        unless=re.compile(r"\bwhat (?:is|are|does)\b|\b(?:will|might|may|could) (?:break|fail|be|need)\b"),
        is_lasting=True,
    ),
    StatementRule(
        "always-never",
        "preference",
        re.compile(
            rf"{_START}(?:you (?:should |must )?)?(?:always|never(?: ever)?) [a-z]+|\b(?:we|i|you should|should"
            rf"|must|shall|people) (?:always|never)"
            r" [a-z]+|\bmust (?:always|never)\b|[,.–—] (?:always|never|ever|immer|nie|niemals)[.!]?$|\bnot even\b"
            r"|\b(?:wir|ich|bitte|man) [a-zäöüß ]{0,40}\b(?:immer|nie|niemals)\b|^(?:immer|nie|niemals) "
            r"|\bimmer (?:auf|mit|in|zuerst|ohne)\b"
        ),
        words_of("always never ever even immer nie niemals"),
        0.83,
        unless=re.compile(
            rf"{_FOR_NOW.pattern}|\b(?:it|this|that|which|tests?|build|ci|they|he|she|there) (?:always|never)\b"
            rf"|\bnever ?mind\b|\bnever (?:heard|seen|knew|used|had|tried|saw|got|worked|been)\b"
            r"|\b(?:i|we)(?:'ve| have) (?:always|never)\b|\balmost (?:always|never)\b|\bas always\b|wie immer"
            r"|immer (?:noch|wieder)|\bi always (?:have|am)\b|\bi never \w+ed\b"
        ),
    ),
    StatementRule(
        "do-not",
        "preference",
        re.compile(
            rf"{_START}(?:do not|don't|dont) (?:ever |even )?(?!{_NO_ORDER}\b)[a-z]+|\bbitte (?:nicht|nie"
            rf"|keine?n?)\b|\bauf keinen fall\b"
            r"|\bich will (?:\w+ )?keine?n?\b|\b(?:verwende|benutze|nimm|schreib|mach) (?:\w+ ){0,3}(?:keine?n?"
            r"|nicht)\b"
        ),
        words_of("not don't dont bitte keinen kein keine nicht"),
        0.8,
        unless=re.compile(
            rf"{_FOR_NOW.pattern}|^(?:no, )?(?:do not|don't|dont) \w+ (?:it|that|this|them)(?: up| yet)?[.!]?$"
        ),
    ),
    StatementRule(
        "no-use-this",
        "preference",
        re.compile(
            r"^(?:no|nope|nah|nein|wrong)\b[,.! –—-]+(?:please |bitte )?(?:always|never|only|in this|immer|nie)\b"
            r"|^(?:no|nope|nah|nein|wrong)\b[,.! –—-]+(?:please |bitte )?(?:use|keep|put|write|name|call|prefer|don't"
            r"|do not|nimm|verwende|schreib)\b[^?]*(?:\b(?:in this|here|always|ever|never|everywhere|for all"
            r"|whenever|instead|hier|immer|überall|statt)\b|, )"
            r"|^(?:no|nope|nah|nein|wrong)\b[,.! –—-]+(?:it|that|they|these|we|you|i|the \w+|wir"
            r"|das)(?:'s)? (?:\w+ )?(?:should|must|has to|have to|use|uses|only wanted|is called|are called|never"
            r"|always|soll|muss|nehmen)\b"
        ),
        words_of("no nope nah nein wrong"),
        0.5,
        unless=re.compile(
            r"^(?:no|nope|nein)\b[,.! ]+(?:thanks|thank|problem|worries|idea|need|that's (?:it|all|fine|ok)"
            r"|it's (?:ok|fine)|danke|i (?:mean|don't|didn't|think|was)|not)\b|\b(?:it|that|this)(?: up)?[.!]?$"
            r"|\byet\b"
        ),
    ),
    StatementRule(
        "not-the-other",
        "preference",
        re.compile(
            r"\b(?:use|using|run(?: \w+)* with|we (?:use|write|have)|i use|called|write|go to|goes in) [^,]{1,60},"
            r" (?:not|never|nicht) |\b(?:not|nicht) (?:with )?[^,]{1,30}, (?:but|sondern) "
            r"|\b(?:i|we) (?:use|write) [^,]{1,40} not \w+"
        ),
        words_of("not never nicht"),
        0.67,
        unless=re.compile(
            rf"{_FOR_NOW.pattern}|^(?:no, )?(?:you|i|it|we) (?:just |have |had )?(?:\w+ed|were|was|are|did|put"
            rf"|wrote|made|want)\b"
        ),
    ),
    StatementRule(
        "we-do-it-so",
        "preference",
        re.compile(
            r"\bwe (?:only |usually |generally |mostly )?(?:use|prefer|keep|write|call|name|put|follow|don't|do not"
            r"|stick to|format|indent|target|support)\b[^?]*"
            r"\b(?:here|everywhere|in this|for (?:all|every|file)|anywhere|names?|project|code ?base|repo|always"
            r"|any|libraries|images?|apk|comments?|tests?|with connections)\b"
            r"|\b(?:everything|all|every \w+) (?:in|of) (?:this|the|our) (?:project|repo|code ?base|app) (?:is|are"
            r"|uses?|has|have)\b|\bwe don't (?:add|use|allow|do|write|fly|want|ship|merge|commit|mock|store|log)\b"
            r"|\bwir (?:verwenden|nutzen|schreiben|benutzen|nennen) [^?]*\b(?:überall|hier|immer|projekt|alle)\b"
        ),
        words_of("we wir everything all every"),
        0.67,
        unless=_FOR_NOW,
    ),
    StatementRule(
        "i-prefer",
        "preference",
        re.compile(
            r"\bi(?:'d| would)? (?:really |much |strongly )?(?:prefer|like (?:it|things|my|to (?:have|see|keep)))\b"
            r"|\bi(?:'d| would) rather\b|\bi (?:only|just) (?:want|use|need|accept)\b"
            r"|\bi (?:hate|dislike|can't stand|use|apply|review|write|merge|deploy) [^?]{2,80}\b(?:so|not|from my"
            r"|myself|always|only|instead)\b|\b(?:hates|can't stand) (?:that|this|it|the)\b"
            r"|\bprefer \w+ (?:over|to) |\bmir (?:ist|sind) [^?]{2,60} lieber\b|\bich (?:bevorzuge|mag (?:keine?"
            r"|lieber)|möchte (?:lieber|keine?|nur|immer))\b"
        ),
        words_of(
            "prefer rather only just hate hates dislike stand use apply review write merge deploy like lieber"
            " bevorzuge mag möchte"
        ),
        0.5,
        unless=re.compile(rf"{_FOR_NOW.pattern}|\bi would use\b"),
        is_lasting=True,
    ),
    StatementRule(
        "has-to-be-so",
        "preference",
        re.compile(
            r"\b(?:names|keys|types|files|tests|comments|commits|messages|variables|figures|imports|branches|styles"
            r"|buttons|functions|docs|code|errors|logs|titles|tables|dates|\w+\.\w{1,4})"
            r" (?:should|must|have to|go|belong|are (?:written|named|called)) [^?]*\b(?:to|be|in|not|never"
            r"|stay|without|under|with|always)\b"
            r"|\b(?:is|are) reserved\b|\bmust (?:stay|remain|not|never)\b|\bkeep (?:supporting|using|writing)\b"
        ),
        words_of("should must have go belong written named called reserved keep"),
        0.8,
        unless=_FOR_NOW,
    ),
    StatementRule(
        "as-i-want-it",
        "preference",
        re.compile(
            r"^(?:and |also |but |so |ok |good[,.!]? )?(?:please )?(?:no|without|kein|keine"
            r"|keinen) [a-z äöüß]{3,40}(?:please|in my|in our|anywhere|ever|bitte|in any|at all)\b"
            r"|\bno [a-z]+ please\b|\bplease (?:use|write|give me|answer|reply|keep|format|stick to"
            r"|call)\b[^?]*\b(?:and no|not|no|only|from now|in|with|without|short|informal|formal|lowercase"
            r"|uppercase)\b"
            r"|\buse (?:informal|formal|lowercase|uppercase|british|american|metric|imperial|tabs|spaces|snake_case"
            r"|camelcase|kebab-case)\b"
            r"|\b(?:ask|frag|fragen) (?:me )?(?:first|erst|vorher|before)\b|\b(?:erst|vorher) fragen\b"
            r"|\b(?:bitte )?schreib \w+ [^?]*\bauf (?:deutsch|englisch)\b"
            r"|\b(?:i'm|i am|my \w+ is|ich bin) (?:allergic|vegan|vegetarian|left-handed|colou?r ?blind|lactose"
            r"|allergisch|vegetarisch)\b|\bi'm not (?:moving|going|willing|allowed)\b"
            r"|\b(?:no edits|report only|read-only please|no commits|nothing but the)\b|\b(?:commit|test|push|save"
            r"|run the tests|lint) after (?:every|each)\b|\bbefore (?:every|each) (?:commit|push|change|merge)\b"
        ),
        words_of(
            "no without kein keine keinen please use ask frag fragen schreib allergic vegan vegetarian handed blind"
            " colorblind colourblind lactose allergisch vegetarisch i'm only nothing after before"
        ),
        0.86,
        unless=_FOR_NOW,
    ),
)
"""In the order in which they are tried: the first that fits names the memory."""
