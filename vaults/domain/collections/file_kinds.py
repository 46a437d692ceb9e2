"""Which files a kind of collection reads, by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from vaults.domain.collections.collection_model import CollectionFields, CollectionKind
from vaults.domain.notes.read.path_globs import compile_matcher
from vaults.files.file_walk import FileRules
from vaults.files.ignore_rules import IGNORE_FILE, MEMPACK_IGNORE_FILES
from vaults.files.paths import NOTE_SUFFIXES
from vaults.files.watch.sources import WatchedNames

OTHER_KIND = "of another kind"
PROGRAM_FOLDER = "folders of dependencies or caches"

GIT_IGNORE_FILE = ".gitignore"

_PROGRAM_FOLDERS = frozenset({"node_modules", "bower_components", "__pycache__", "venv", "site-packages"})

# Beside what a grammar reads: files that say how a program is built, kept and described.
_CODE_SUFFIXES = frozenset({
    ".sql", ".proto", ".graphql", ".css", ".scss", ".less", ".vue", ".svelte", ".html", ".toml", ".yaml", ".yml",
    ".ini", ".cfg", ".tf", ".cmake", ".gradle", ".r", ".jl", ".dart", ".ex", ".exs", ".erl", ".hs", ".clj", ".pl",
    ".ps1", ".md", ".rst", ".txt",
})  # fmt: skip
_CODE_NAMES = frozenset({"Dockerfile", "Makefile", "CMakeLists.txt", "Jenkinsfile", "Procfile"})


def make_rules(fields: CollectionFields) -> FileRules:
    """Which files of a collection's folder are read."""
    counts = _make_test(fields)
    why_program = _why_program(fields.kind)

    def why_left_out(path: str) -> str | None:
        reason = why_program(path)
        if reason is None and not path.endswith("/") and not counts(path):
            return OTHER_KIND
        return reason

    code = (GIT_IGNORE_FILE,) if fields.kind == "code" else ()
    return FileRules(why_left_out, fields.exclude, (*code, *MEMPACK_IGNORE_FILES, IGNORE_FILE))


def make_watched_names(fields: CollectionFields) -> WatchedNames:
    """What of it is watched: changes of files that count, and of what says which do."""
    why_program = _why_program(fields.kind)
    counts = _is_of(fields.kind) if not fields.include else lambda _: True

    def is_folder(name: str) -> bool:
        return not name.startswith(".") and why_program(f"{name}/") is None

    def is_file(name: str) -> bool:
        return is_ignore_file(name) or (not name.startswith(".") and counts(name))

    return WatchedNames(is_folder, is_file)


def is_ignore_file(path: str) -> bool:
    """Whether a file says what is left out."""
    return path.rpartition("/")[2] in (IGNORE_FILE, *MEMPACK_IGNORE_FILES, GIT_IGNORE_FILE)


def _make_test(fields: CollectionFields) -> Callable[[str], bool]:
    if not fields.include:
        return _is_of(fields.kind)
    tests = [compile_matcher(each) for each in fields.include]
    return lambda path: any(test(path) for test in tests)


def _is_of(kind: CollectionKind) -> Callable[[str], bool]:
    match kind:
        case "markdown":
            return lambda path: path.lower().endswith(NOTE_SUFFIXES)
        case "documents":
            suffixes = _document_suffixes()
            return lambda path: path.lower().endswith(suffixes)
        case "code":
            return _is_code


@cache
def _document_suffixes() -> tuple[str, ...]:
    from vaults.formats.known import FORMATS

    return tuple(suffix for each in FORMATS for suffix in each.suffixes)


def _is_code(path: str) -> bool:
    from vaults.code.languages import find_language

    name = path.rpartition("/")[2]
    if name in _CODE_NAMES or find_language(name) is not None:
        return True
    return "." in name and name[name.rfind(".") :].lower() in _CODE_SUFFIXES


def _why_program(kind: CollectionKind) -> Callable[[str], str | None]:
    if kind == "code":
        from vaults.code.exclusions import why_excluded

        return why_excluded
    return lambda path: PROGRAM_FOLDER if path.endswith("/") and _last_name(path) in _PROGRAM_FOLDERS else None


def _last_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
