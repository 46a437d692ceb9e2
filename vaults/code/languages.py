"""The languages whose grammar is known: by which names their files go, and where their comments and names stand.

What a language's symbols, calls and imports are stands in ``queries/``, in tree-sitter's own notation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PLAIN = "text"
"""The language of a file that belongs to none."""

_SLASHES = ("//", "/*", "*")
_HASH = ("#",)


@dataclass(frozen=True, slots=True)
class SourceLanguage:
    """A language. ``grammar``: the module of its grammar and the function there; ``comments``: what a line of comment
    begins with; ``attributes``: likewise of what belongs to the definition below it; ``wrappers``: nodes around a
    definition that belong to it; ``names``: nodes that name something; ``index``: names of files that stand for their
    folder; ``folders``: whether a module is a folder, not a file; ``members``: whether an import names a member by its
    last word; ``separator``: between the words of a module; ``endings``: whether imports name files with their ending;
    ``explicit``: whether what another file defines has to be imported to be named; ``queries``: the files in
    ``queries/`` that it is made of; the one of its name where it shares none."""

    name: str
    suffixes: tuple[str, ...]
    grammar: tuple[str, str]
    comments: tuple[str, ...] = _SLASHES
    attributes: tuple[str, ...] = ("@",)
    wrappers: tuple[str, ...] = ()
    names: tuple[str, ...] = ("identifier",)
    interpreters: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    folders: bool = False
    members: bool = False
    separator: str = "."
    endings: bool = False
    explicit: bool = False
    queries: tuple[str, ...] = ()


_SCRIPT_INDEX = ("index",)
_TYPED = ("identifier", "type_identifier")

LANGUAGES = (
    SourceLanguage(
        "python",
        (".py", ".pyi", ".pyw"),
        ("tree_sitter_python", "language"),
        comments=_HASH,
        wrappers=("decorated_definition",),
        interpreters=("python", "python2", "python3"),
        files=("SConstruct", "wscript"),
        index=("__init__", "__main__"),
        explicit=True,
    ),
    SourceLanguage(
        "javascript",
        (".js", ".mjs", ".cjs", ".jsx"),
        ("tree_sitter_javascript", "language"),
        wrappers=("export_statement",),
        names=("identifier", "shorthand_property_identifier"),
        interpreters=("node", "deno", "bun"),
        index=_SCRIPT_INDEX,
        separator="/",
        explicit=True,
        queries=("ecmascript", "javascript", "jsx"),
    ),
    SourceLanguage(
        "typescript",
        (".ts", ".mts", ".cts"),
        ("tree_sitter_typescript", "language_typescript"),
        wrappers=("export_statement",),
        names=(*_TYPED, "shorthand_property_identifier"),
        interpreters=("ts-node",),
        index=_SCRIPT_INDEX,
        separator="/",
        explicit=True,
        queries=("ecmascript", "typescript"),
    ),
    SourceLanguage(
        "tsx",
        (".tsx",),
        ("tree_sitter_typescript", "language_tsx"),
        wrappers=("export_statement",),
        names=(*_TYPED, "shorthand_property_identifier"),
        index=_SCRIPT_INDEX,
        separator="/",
        explicit=True,
        queries=("ecmascript", "typescript", "jsx"),
    ),
    SourceLanguage(
        "go",
        (".go",),
        ("tree_sitter_go", "language"),
        names=_TYPED,
        folders=True,
        separator="/",
    ),
    SourceLanguage(
        "rust",
        (".rs",),
        ("tree_sitter_rust", "language"),
        attributes=("#[",),
        names=_TYPED,
        index=("mod", "lib"),
        separator="::",
        explicit=True,
    ),
    SourceLanguage("java", (".java",), ("tree_sitter_java", "language"), names=_TYPED),
    SourceLanguage("c", (".c", ".h"), ("tree_sitter_c", "language"), names=_TYPED, separator="/", endings=True),
    SourceLanguage(
        "cpp",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp", ".cu", ".cuh", ".ino"),
        ("tree_sitter_cpp", "language"),
        attributes=("[[",),
        wrappers=("template_declaration",),
        names=(*_TYPED, "namespace_identifier"),
        separator="/",
        endings=True,
    ),
    SourceLanguage(
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru"),
        ("tree_sitter_ruby", "language"),
        comments=_HASH,
        names=("identifier", "constant"),
        separator="/",
        interpreters=("ruby",),
        files=("Rakefile", "Gemfile", "Vagrantfile"),
    ),
    SourceLanguage(
        "php",
        (".php", ".phtml"),
        ("tree_sitter_php", "language_php"),
        comments=(*_SLASHES, "#"),
        attributes=("#[",),
        names=("name",),
        separator="\\",
        interpreters=("php",),
    ),
    SourceLanguage("csharp", (".cs",), ("tree_sitter_c_sharp", "language"), attributes=("[",)),
    SourceLanguage(
        "bash",
        (".sh", ".bash", ".zsh", ".bats"),
        ("tree_sitter_bash", "language"),
        comments=_HASH,
        attributes=(),
        names=("variable_name",),
        separator="/",
        endings=True,
        interpreters=("sh", "bash", "dash", "zsh", "ksh"),
        files=(".bashrc", ".profile", ".bash_profile", ".zshrc"),
    ),
    SourceLanguage("kotlin", (".kt", ".kts"), ("tree_sitter_kotlin", "language"), members=True),
    SourceLanguage("scala", (".scala", ".sc"), ("tree_sitter_scala", "language"), names=_TYPED, members=True),
    SourceLanguage(
        "swift", (".swift",), ("tree_sitter_swift", "language"), names=("simple_identifier", "type_identifier")
    ),
    SourceLanguage("lua", (".lua",), ("tree_sitter_lua", "language"), comments=("--",), attributes=(), index=("init",)),
)  # fmt: skip

BY_NAME = {language.name: language for language in LANGUAGES}

_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_FILE = {name: language for language in LANGUAGES for name in language.files}
_BY_INTERPRETER = {name: language for language in LANGUAGES for name in language.interpreters}

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*(?:\S*/)?)?([A-Za-z+-]+[0-9]?)")
_CPLUSPLUS = re.compile(r"^\s*(?:class|namespace|template\s*<|public:|private:|using\s+\w+\s*=)", re.MULTILINE)

HEADER_CHARACTERS = 20_000
"""Characters of a header that tell C++ from C."""


def find_language(name: str, text: str = "") -> SourceLanguage | None:
    """The language of a file by its name, else by its first line. Pure. ``text``: how it begins."""
    file = name.replace("\\", "/").rpartition("/")[2]
    language = _BY_FILE.get(file) or _BY_SUFFIX.get(_suffix(file))
    if language is None and (shebang := _SHEBANG.match(text[:200])):
        language = _BY_INTERPRETER.get(shebang[1])
    if file.endswith(".h") and _CPLUSPLUS.search(text[:HEADER_CHARACTERS]):
        return BY_NAME["cpp"]
    return language


def _suffix(file: str) -> str:
    dot = file.rfind(".")
    return file[dot:].lower() if dot > 0 else ""
