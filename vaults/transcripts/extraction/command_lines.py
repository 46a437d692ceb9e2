"""Command lines: which are one and the same, and which are worth keeping."""

from __future__ import annotations

import re
from functools import lru_cache

from vaults.transcripts.extraction.spoken_text import words_of

_SEPARATOR = re.compile(r"\s*(?:&&|\|\||;|(?<!\|)\|(?!\|))\s*")
_PROGRAM = re.compile(r"[\w.+:@-]{2,40}")
_ALONE = frozenset(("make", "pytest", "just"))
"""Programs that do their work without any argument."""

_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=\S*$")
_WRAPPERS = frozenset(("sudo", "time", "nohup", "env", "exec", "command", "nice", "xvfb-run"))

_LOOKING = words_of(
    "ls cd cat head tail less more grep rg ag ack fd find locate echo printf pwd which whereis type wc sed awk"
    " sort uniq cut tr mkdir rmdir rm mv cp ln touch chmod chown tree stat file diff cmp du df ps top kill pkill"
    " killall sleep export set unset env date uname whoami id hostname history man open code vim nano clear true"
    " false test [ read jq yq xargs tee md5sum sha256sum base64 ping dig nslookup host eval lsof netstat ss ip"
    " ifconfig crontab tmux screen source . alias for while if do done then fi node python python3 ruby perl php"
    " bash sh zsh tar unzip zip gzip cal bc seq tput sqlite3 psql mysql redis-cli curl wget ssh scp rsync git gh"
    " glab hub strings xxd od realpath readlink basename dirname column adb"
)
"""Programs that look around, move files, or run what is typed just then: interpreters with a file are taken back
in."""

_LOOKS = re.compile(
    r"(?:get|describe|show|view|list|ls|logs?|status|info|version|help|search|inspect|cat|blame|reflog|whoami"
    r"|outdated|why|tree"
    r"|ps|images|top|events|explain|doctor|env|config|output|history|root|bin|prefix|docs)$|(?:get|describe|list)-"
)
_NESTED = frozenset(("kubectl", "oc", "docker", "podman", "helm", "aws", "gcloud", "az", "nomad", "systemctl", "doctl"))
"""Programs whose verb stands behind options with values, or behind the thing it is done to."""

_ADDING = words_of("add install remove uninstall i rm update upgrade up-to-date init create new generate")
"""Subcommands that change what a project is made of, once: what they did stands in its files."""

_PACKAGERS = words_of(
    "npm pnpm yarn bun pip pip3 pipx uv poetry cargo gem bundle brew apt apt-get dnf yum pacman go composer conda"
    " mamba apk snap flatpak choco winget tlmgr rustup nvm fnm volta pdm hatch rye opam stack"
)
_RUNNERS = frozenset(("npx", "bunx", "pnpx", "uvx", "dlx"))
"""Programs that fetch another one and run it: what that one adds is done once."""

_INTERPRETERS = frozenset(("python", "python3", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "deno", "bun"))
_FAMILIAR = words_of(
    "make just task npm pnpm yarn npx bun deno pytest tox nox uv poetry hatch pdm cargo go mvn gradle gradlew"
    " bazel cmake ctest ninja meson docker podman docker-compose helm kubectl terraform tofu pulumi ansible-"
    " playbook cdk sam serverless rails rake rspec bundle mix composer artisan phpunit dotnet swift xcodebuild"
    " fastlane flutter dart idf.py pio west cabal stack nix nixos-rebuild home-manager tsc vitest jest playwright"
    " cypress eslint ruff mypy black prettier alembic flask django-admin manage.py dbt airflow prefect dagster"
    " kamal fly flyctl vercel netlify wrangler gcloud aws az heroku latexmk pandoc sbt lein clojure zig rebar3"
    " gleam elm hugo jekyll mkdocs sphinx-build python python3 node ruby php perl"
)
"""Programs known to build, test, run or deploy."""

WORTH_KEEPING, MAYBE = 0.95, 0.5
"""Of familiar programs, and of all others, which are kept only when they ran more than once: precision on the
development half of the judged conversations, (right + 1) / (found + 2), at most .95."""


@lru_cache(4096)
def rate_command(line: str) -> float:
    """How sure it is that a command that worked is worth keeping; 0: it only looked around."""
    return max((_rate(part) for part in _SEPARATOR.split(line)), default=0.0)


def _rate(part: str) -> float:
    words = strip_wrappers(part.split())
    if not words or "<<" in part:
        return 0.0
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program in _INTERPRETERS and rest and (rest[0] == "-m" or (not rest[0].startswith("-") and "." in rest[0])):
        return WORTH_KEEPING
    verbs = [word for word in rest if not word.startswith("-")]
    looked = verbs[: 4 if program in _NESTED or program not in _FAMILIAR else 1]
    if program in _LOOKING or not _PROGRAM.fullmatch(program) or any(_LOOKS.match(word) for word in looked):
        return 0.0
    if {"--version", "--help", "-h", "-V"} & set(rest) or _adds(program, verbs):
        return 0.0
    if not rest and program not in _ALONE:
        return 0.0
    return WORTH_KEEPING if program in _FAMILIAR else MAYBE


def _adds(program: str, verbs: list[str]) -> bool:
    """Whether a program changes what a project is made of; most packagers do so without any verb."""
    if program in _PACKAGERS:
        return not verbs or verbs[0] in _ADDING
    return program in _RUNNERS and any(word in _ADDING or word.startswith("create-") for word in verbs[:3])


def strip_wrappers(words: list[str]) -> list[str]:
    """A command's words from the program on: without settings of variables and programs that only run others."""
    for number, word in enumerate(words):
        if not _ASSIGNMENT.match(word) and word not in _WRAPPERS:
            return words[number:]
    return []


def is_other_form(failed: str, worked: str) -> bool:
    """Whether one command is the other with an argument more or changed: same program, and all its words or its first
    two are kept."""
    before, after = strip_wrappers(failed.split()), strip_wrappers(worked.split())
    if not before or not after or before[0] != after[0] or before == after:
        return failed in worked and rate_command(failed) > 0
    if set(before) <= set(after):
        return True
    return len(before) > 2 and len(after) > 2 and before[:3] == after[:3]


def changes_something(line: str) -> bool:
    """Whether a command may have made another one work: it does more than show things."""
    doing = words_of("rm mv cp ln mkdir chmod chown touch export kill psql mysql redis-cli sqlite3 sed git")
    for part in _SEPARATOR.split(line):
        words = strip_wrappers(part.split())
        if not words:
            continue
        program = words[0].rpartition("/")[2]
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        if program == "git":
            if verb not in ("status", "log", "diff", "show", "blame", "reflog", "branch", "fetch"):
                return True
        elif program == "sed":
            if "-i" in words:
                return True
        elif program in doing or (program in _PACKAGERS and verb in _ADDING) or _rate(part):
            return True
    return False
