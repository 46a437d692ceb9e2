"""Nobody gets lost in the packages: each is named, each of the first levels has a page, each module stands in a map."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_PACKAGES = ("server", "vaults", "auth", "ops")
PACKAGES = sorted(path.parent for top in TOP_PACKAGES for path in (ROOT / top).rglob("__init__.py"))
DOMAIN = ROOT / "vaults" / "domain"
GUIDES = [ROOT / "docs" / "architecture.md", ROOT / "docs" / "glossary.md"]
READMES = sorted(path for top in TOP_PACKAGES for path in (ROOT / top).rglob("README.md"))

_BACKTICKED = re.compile(r"`([\w./-]+)`")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_empty(package: Path) -> bool:
    """Whether nothing but its docstring is left of a package."""
    return [path.name for path in package.glob("*") if path.name != "__pycache__"] == ["__init__.py"]


def map_entries(readme: Path) -> list[str]:
    """What stands in the first column of the map: modules by their file, rooms with a slash at the end."""
    _, found, rest = readme.read_text(encoding="utf-8").partition("\n## Map\n")
    assert found, f"{relative(readme)} has no map"
    rows = re.findall(r"^\| (`[^|]+) \|", rest.partition("\n## ")[0], re.MULTILINE)
    return [name for row in rows for name in _BACKTICKED.findall(row)]


def paths_in(page: Path) -> Iterator[str]:
    for name in _BACKTICKED.findall(page.read_text(encoding="utf-8")):
        if name.endswith(".py") or (name.endswith("/") and name.split("/")[0] in TOP_PACKAGES):
            yield name


def test_each_package_is_named_in_the_guides() -> None:
    words = {name.rstrip("/") for page in GUIDES for name in _BACKTICKED.findall(page.read_text(encoding="utf-8"))}
    unnamed = {relative(package) for package in PACKAGES if not is_empty(package)} - words
    assert unnamed == set(), "name it in docs/glossary.md"


def test_each_package_of_the_first_levels_has_a_page() -> None:
    near = [each for each in PACKAGES if len(each.relative_to(ROOT).parts) <= 2 or each.parent == DOMAIN]
    assert [each for each in near if not is_empty(each) and not (each / "README.md").is_file()] == []


def test_each_module_stands_in_the_map_of_its_package() -> None:
    for package in PACKAGES:
        _check_map(package)


def _check_map(package: Path) -> None:
    home = next(each for each in (package, *package.parents) if (each / "README.md").is_file() or is_empty(package))
    if is_empty(package):
        return
    listed = set(map_entries(home / "README.md"))
    prefix = "" if home == package else f"{package.relative_to(home)}/"
    missing = {f"{prefix}{path.name}" for path in package.glob("*.py") if path.name != "__init__.py"} - listed
    assert missing == set(), f"in {relative(home)}/README.md"
    if package != home or package.parent == ROOT:
        return
    above = package.parent / "README.md"
    assert f"{package.name}/" in map_entries(above), f"in {relative(above)}"


def test_a_map_lists_what_is_there_and_once() -> None:
    for readme in READMES:
        entries = map_entries(readme)
        assert len(entries) == len(set(entries)), relative(readme)
        assert [name for name in entries if not (readme.parent / name).exists()] == [], relative(readme)


def test_every_module_a_page_names_exists() -> None:
    """By its path from the root, from the page, or from the package at the top."""
    for page in (*GUIDES, *READMES):
        bases = (ROOT, page.parent, ROOT / page.relative_to(ROOT).parts[0])
        missing = [name for name in paths_in(page) if not any((base / name).exists() for base in bases)]
        assert missing == [], relative(page)


def test_links_of_a_package_page_lead_somewhere() -> None:
    for readme in READMES:
        targets = re.findall(r"\]\(([^)#]+)[^)]*\)", readme.read_text(encoding="utf-8"))
        local = [target for target in targets if not target.startswith("https://")]
        assert [target for target in local if not (readme.parent / target).exists()] == [], relative(readme)


def test_terms_are_in_the_order_of_the_alphabet() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("\n## Packages")[0]
    terms = [term.lower() for term in re.findall(r"^- \*\*([^*]+)\*\*", page, re.MULTILINE)]
    assert terms == sorted(terms)
    assert len(terms) == len(set(terms))
