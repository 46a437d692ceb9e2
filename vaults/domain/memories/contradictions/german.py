"""The German words for finding contradictions: in addition to the English ones, never instead of them."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())  # which writes ss for ß, as in the texts it is looked up for


DENYING = _words("nicht kein keine keinen keiner keinem keines nie niemals nichts niemand ohne weder")

STOP = _words(
    "der die das den dem des ein eine einen einem einer eines und oder aber so auch dann dort hier nur wir uns unser "
    "unsere unserem unseren unserer ich du er sie es ihr ihre sein seine man ist sind war waren wird werden wurde "
    "wurden hat haben hatte bin sei soll sollen sollte kann können könnte muss müssen darf dürfen möchte will wollen "
    "in im an am auf aus bei beim mit nach von vom vor zu zum zur für über unter durch um bis seit während als wie "
    "dass weil wenn falls sondern statt anstatt immer stets jetzt nun derzeit aktuell inzwischen heute mehr noch "
    "schon bitte alle jede jeder jedes jeden etwa rund uhr"
)

VERBS = _words(
    "ist sind hat haben wird werden läuft laufen lauscht lauschen nutzt nutzen verwendet verwenden benutzt benutzen "
    "setzt setzen liegt liegen steht stehen heißt heißen lautet beträgt dauert dauern startet starten beginnt endet "
    "enden gilt gelten kostet braucht brauchen benötigt bleibt bleiben findet finden speichert hält halten arbeitet "
    "wohnt bevorzugt bevorzugen möchte unterstützt kommt geht gehört verantwortet leitet betreut deployen muss darf "
    "soll kann müssen sollen können dürfen"
)

PAST = _words(
    "fiel fielen ging gingen kam kamen nutzten verwendeten hatten gab traf trafen schrieb wurde wurden war waren lief "
    "liefen dauerte scheiterte behob behoben"
)

TIMES = _words(
    "montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags "
    "samstags sonntags januar februar märz mai juni juli oktober dezember stündlich täglich nächtlich wöchentlich "
    "monatlich vierteljährlich jährlich einmal zweimal zwei drei vier fünf sechs sieben acht neun zehn elf zwölf "
    "zwanzig dreißig mittags mitternacht morgens abends"
)

OPPOSITES = (
    "aktiviert=eingeschaltet=angeschaltet deaktiviert=ausgeschaltet=abgeschaltet",
    "aktiv inaktiv",
    "erlaubt=zulässig=gestattet verboten=untersagt=unzulässig",
    "erforderlich=verpflichtend=pflicht freiwillig",
    "öffentlich privat",
    "synchron asynchron",
    "verschlüsselt unverschlüsselt",
    "automatisch manuell",
    "sichtbar verborgen",
    "möglich unmöglich",
    "sicher unsicher",
    "stabil instabil",
    "gültig ungültig",
    "unveränderlich veränderlich",
)

AGAINST = _words("vermeide vermeiden verzichten")

SLOTS = _words(
    "paketmanager datenbank sprache framework bibliothek port region zeitzone währung branch version zuständig "
    "verantwortlich ansprechpartner eigentümer inhaber besitzer leitung termin frist grenze adresse server anbieter "
    "werkzeug editor format modus protokoll warteschlange speicher standort büro kanal lizenz thema stadt linter"
)
"""Subjects that have one value at a time; also as the end of a compound."""

BINDING = _words("im auf über unter bei nach heißt namens")
TAIL = _words("für als im zur zum beim mit bei")
ARTICLES = _words(
    "der die das den dem des ein eine einen einem einer wir unser unsere derzeit aktuell jetzt nun immer noch etwa rund"
)
