"""What a release is made of: one version everywhere, files that other programs demand, workflows, their checklist."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from server.cli.app import MODULES
from server.version import version

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(path: str) -> ModuleType:
    """A script of deploy/ as a module."""
    sys.path.insert(0, str((ROOT / path).parent))
    try:
        spec = importlib.util.spec_from_file_location(f"deploy_{Path(path).stem}", ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
        sys.modules.pop("version_files", None)
    return module


VERSION_FILES, CHECKLIST, PACK = map(
    load, ("deploy/release/version_files.py", "deploy/release/checklist.py", "deploy/mcpb/pack.py")
)


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that name the version and are checked, in a repository of their own."""
    for file in (*VERSION_FILES.PLACES, "CHANGELOG.md", "README.md"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


def test_every_file_that_names_the_version_names_this_one() -> None:
    assert VERSION_FILES.versions() == {file: {version()} for file in VERSION_FILES.PLACES}
    named = [path for path in ROOT.rglob("*.json") if ".venv" not in path.parts and "node_modules" not in path.parts]
    elsewhere = [str(path.relative_to(ROOT)) for path in named if f'"version": "{version()}"' in path.read_text()]
    assert set(elsewhere) - set(VERSION_FILES.PLACES) == set()


def test_the_version_is_set_everywhere_at_once(checkout: Path) -> None:
    VERSION_FILES.set_version("1.2.3-rc.1", checkout)
    assert set().union(*VERSION_FILES.versions(checkout).values()) == {"1.2.3-rc.1"}
    assert tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["version"] == "1.2.3-rc.1"
    with pytest.raises(ValueError, match="semantic"):
        VERSION_FILES.set_version("1.2", checkout)


def test_the_checklist_names_what_is_missing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = (CHECKLIST.one_version, CHECKLIST.dated_changelog, CHECKLIST.clean_checkout, CHECKLIST.named_publisher)
    (checkout / "new").touch()
    assert not CHECKLIST.run(CHECKLIST.Release("1.2.3", False, checkout), quick)
    said = capsys.readouterr().out
    assert said.count("no ") == len(quick)
    for problem in ("version_files.py 1.2.3", "(YYYY-MM-DD)", "uncommitted: new", "still says OWNER"):
        assert problem in said
    (checkout / "new").unlink()
    VERSION_FILES.set_version("1.2.3", checkout)
    amend(checkout / "CHANGELOG.md", r"(?m)^## 0\.1\.0 .*$", "## 1.2.3 (2026-11-26)")
    amend(checkout / "server.json", "OWNER", "someone")
    amend(checkout / "README.md", r"\Z", "<!-- mcp-name: io.github.someone/strongroom -->\n")
    commit(checkout)
    assert CHECKLIST.run(CHECKLIST.Release("1.2.3", False, checkout), quick), capsys.readouterr().out
    git(checkout, "tag", "v1.2.3")
    assert not CHECKLIST.run(CHECKLIST.Release("1.2.3", False, checkout), quick)
    assert CHECKLIST.run(CHECKLIST.Release("1.2.3", True, checkout), quick)


def amend(path: Path, pattern: str, text: str) -> None:
    path.write_text(re.sub(pattern, text, path.read_text()))


def test_the_registry_is_told_of_a_command_there_is() -> None:
    server = read("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 1 <= len(server["description"]) <= 100
    (package,) = server["packages"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (package["registryType"], package["identifier"]) == ("pypi", project["name"])
    assert package["identifier"] in project["scripts"]
    assert package["packageArguments"][0]["value"] in MODULES
    assert package["transport"] == {"type": "stdio"}


def test_the_bundle_holds_the_wheel_and_what_it_was_tested_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "strongroom-0.1.0-py3-none-any.whl"
    wheel.touch()
    PACK.stage(wheel, tmp_path / "bundle")
    project = tomllib.loads((tmp_path / "bundle" / "pyproject.toml").read_text())
    assert project["tool"]["uv"]["sources"]["strongroom"] == {"path": wheel.name}
    assert "mcp==2.3.0" in project["tool"]["uv"]["constraint-dependencies"]
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    assert (tmp_path / "bundle" / manifest["server"]["entry_point"]).is_file()
    asked = re.findall(r"\$\{user_config\.(\w+)\}", " ".join(manifest["server"]["mcp_config"]["args"]))
    assert asked == list(manifest["user_config"])
    monkeypatch.setattr("strongroom.main", lambda: None)
    monkeypatch.setattr("sys.argv", ["server.py", "/notes", "ask"])
    load("deploy/mcpb/server.py")
    assert sys.argv == ["strongroom", "stdio", "--path", "/notes", "--write-mode", "ask"]


def test_both_marketplaces_lead_to_the_plugin() -> None:
    for place in (ROOT, ROOT / "integrations" / "claude-code"):
        market = json.loads((place / ".claude-plugin" / "marketplace.json").read_text())
        (plugin,) = market["plugins"]
        manifest = json.loads((place / plugin["source"] / ".claude-plugin" / "plugin.json").read_text())
        assert manifest["name"] == plugin["name"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_what_they_use_and_call_targets_there_are(path: Path) -> None:
    text = path.read_text()
    for action in re.findall(r"uses: (\S+.*)$", text, re.MULTILINE):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z0-9-]+)", text.partition("\njobs:")[2])) - {"the"} <= targets
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "what comes from outside goes through env"


def test_the_tests_run_on_every_python_that_is_promised() -> None:
    tested = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]["test"]["strategy"][
        "matrix"
    ]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    assert {f"Programming Language :: Python :: {each}" for each in tested["python"]} < set(classifiers)
