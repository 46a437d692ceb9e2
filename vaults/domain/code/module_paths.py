"""Modules as paths: what an import names, and which file that is. Pure.

A file's module is its path without ending; what an import names is brought into the same form, a relative one from
where the file stands. That a path ends as the import says is all that is looked at: no search path is known.
"""

from __future__ import annotations

import posixpath

from vaults.code.languages import BY_NAME, SourceLanguage, find_language

MAX_PATH = 1_000


def to_module(path: str, language: str) -> str:
    """The module that a file is. One that stands for its folder is the folder."""
    path = path.replace("\\", "/").strip("/")[-MAX_PATH:]
    known = BY_NAME.get(language)
    if known is None or known.endings:
        return path
    folder, _, file = path.rpartition("/")
    stem = file.partition(".")[0] if file.endswith(".d.ts") else file.rpartition(".")[0] or file
    if known.folders or (stem in known.index and folder):
        return folder
    return f"{folder}/{stem}" if folder else stem


def to_target(module: str, path: str, language: str) -> str:
    """What an import in a file names, as a path."""
    known = BY_NAME.get(language)
    module = module.strip("\"'`<> ")[:MAX_PATH]
    folder = path.replace("\\", "/").strip("/").rpartition("/")[0]
    if known is None:
        return module
    if known.separator == ".":
        return _from_dots(module, folder)
    if known.separator in ("::", "\\"):
        parts = [part for part in module.replace("\\", "/").replace("::", "/").split("/") if part]
        return "/".join(part for part in parts if part not in ("crate", "self", "super", "."))
    return _from_slashes(module, folder, known)


def _from_dots(module: str, folder: str) -> str:
    dots = len(module) - len(module.lstrip("."))
    rest = module[dots:].replace(".", "/")
    if not dots:
        return rest
    base = folder.split("/") if folder else []
    kept = base[: max(0, len(base) - (dots - 1))]
    return "/".join([*kept, rest] if rest else kept)


def _from_slashes(module: str, folder: str, language: SourceLanguage) -> str:
    if not language.endings:
        named = find_language(module)
        module = module[: module.rfind(".")] if named is not None and "." in module.rpartition("/")[2] else module
    if module.startswith(("./", "../")) or module in (".", ".."):
        module = posixpath.normpath(posixpath.join(folder, module))
        module = "/".join(part for part in module.split("/") if part != "..")
    head, _, last = module.rpartition("/")
    if last in language.index and head:
        module = head
    return module.removeprefix("@/").removeprefix("~/").strip("/")


def last_word(path: str) -> str:
    """The last word of a path."""
    return path.rpartition("/")[2]


def fits(target: str, module: str) -> bool:
    """Whether what an import names may be this module: the shorter path ends the longer one. A module of one word at
    the root of its collection fits nothing longer, because such words are everywhere."""
    if not target or not module:
        return False
    if target == module or module.endswith(f"/{target}"):
        return True
    return "/" in module and target.endswith(f"/{module}")
