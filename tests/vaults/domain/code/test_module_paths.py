"""What an import names is brought into the form of a path, and compared with those of files."""

from __future__ import annotations

import pytest

from vaults.domain.code.module_paths import fits, to_module, to_target


@pytest.mark.parametrize(
    ("path", "language", "module"),
    [
        ("src/shop/till.py", "python", "src/shop/till"),
        ("src/shop/__init__.py", "python", "src/shop"),
        ("web/basket/index.ts", "typescript", "web/basket"),
        ("web/types.d.ts", "typescript", "web/types"),
        ("index.js", "javascript", "index"),
        ("shop/till.go", "go", "shop"),
        ("src/shop/mod.rs", "rust", "src/shop"),
        ("include/shop.h", "c", "include/shop.h"),
        ("a\\b\\C.java", "java", "a/b/C"),
        ("notes.txt", "text", "notes.txt"),
    ],
)
def test_a_file_is_a_module(path: str, language: str, module: str) -> None:
    assert to_module(path, language) == module


@pytest.mark.parametrize(
    ("module", "path", "language", "target"),
    [
        ("shop.till", "web.py", "python", "shop/till"),
        (".till", "src/shop/web.py", "python", "src/shop/till"),
        ("..till", "src/shop/web.py", "python", "src/till"),
        (".", "src/shop/web.py", "python", "src/shop"),
        ("....far", "web.py", "python", "far"),
        ("./basket.js", "web/app.ts", "typescript", "web/basket"),
        ("../lib/basket", "web/app/main.ts", "typescript", "web/lib/basket"),
        ("../../../out", "web/app.ts", "typescript", "out"),
        ("./basket/index", "web/app.ts", "typescript", "web/basket"),
        ("@/basket", "web/app.ts", "typescript", "basket"),
        ("lodash.debounce", "web/app.ts", "typescript", "lodash.debounce"),
        ("example.org/shop/prices", "main.go", "go", "example.org/shop/prices"),
        ("crate::shop::till", "src/main.rs", "rust", "shop/till"),
        ("org.example.Shop", "A.java", "java", "org/example/Shop"),
        ("Market\\Shop", "a.php", "php", "Market/Shop"),
        ("prices.h", "src/shop.c", "c", "prices.h"),
        ("../inc/prices.h", "src/shop.c", "c", "inc/prices.h"),
        ("prices", "lib/shop.rb", "ruby", "prices"),
        ("", "a.py", "python", ""),
    ],
)
def test_an_import_names_a_path(module: str, path: str, language: str, target: str) -> None:
    assert to_target(module, path, language) == target


@pytest.mark.parametrize(
    ("target", "module", "fit"),
    [
        ("shop/till", "src/shop/till", True),
        ("shop/till", "shop/till", True),
        ("till", "src/shop/till", True),
        ("ill", "src/shop/till", False),
        ("example.org/shop/prices", "shop/prices", True),
        ("os/path", "path", False),
        ("", "path", False),
        ("shop", "", False),
    ],
)
def test_the_shorter_path_ends_the_longer_one(target: str, module: str, fit: bool) -> None:
    assert fits(target, module) is fit
