"""No Docker engine runs here: what image, compose file and dashboard name has to exist, and hold what is promised."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
import yaml

from ops.cluster_metrics import CLUSTER_DECLARED, ForwardOutcome
from ops.metrics import DECLARED, HistogramSpec, outcome_labels
from tests.server.cli.command import Strongroom

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
TLS = yaml.safe_load((ROOT / "deploy" / "tls.yaml").read_text())


def stages():
    """Name → (base, instructions), in order; continuation lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE))
    found: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    current: list[tuple[str, str]] = []
    for line in filter(str.strip, text.splitlines()):
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            current = []
            found[name] = (base, current)
        else:
            current.append((word, rest.strip()))
    return found


def whole(name):
    """A stage's instructions with those of the stages it stands on."""
    base, own = stages()[name]
    return (whole(base) if base in stages() else []) + own


def values(name, word):
    return [rest for each, rest in whole(name) if each == word]


def test_slim_is_the_last_stage_and_both_targets_exist():
    assert list(stages())[-1] == "slim"
    assert "full" in stages()


def test_slim_never_sees_pytorch():
    assert not re.search(
        r"torch|models\.txt", " ".join(values("slim", "RUN") + values("build", "RUN") + values("build", "COPY"))
    )
    environment = [copy for copy in values("slim", "COPY") if copy.endswith("/opt/strongroom")]
    assert environment == ["--from=build /opt/strongroom /opt/strongroom"]
    assert not set(locked("light")) & {"torch", "transformers", "sentence-transformers", "onnx"}


def locked(name):
    """Package → version of a list with digests."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    assert len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)) == len(
        re.findall(r"^[\w.-]+==.* \\$", text, re.MULTILINE)
    )
    return {normalised(found[0]): found[1] for found in re.findall(r"^([\w.-]+)==([\w.+]+)", text, re.MULTILINE)}


@pytest.mark.parametrize("name", ["light", "extras", "models", "dev", "clients"])
def test_what_is_installed_is_what_was_asked_for_with_the_digest_of_each_file(name):
    asked = (ROOT / "requirements" / f"{name}.in").read_text()
    wanted = re.findall(r"^([\w.-]+)==([\w.+]+)", asked, re.MULTILINE)
    assert {normalised(each): version for each, version in wanted} == locked(name), "run: make lock"


def test_both_targets_hold_the_model_and_check_it():
    assert "&& strongroom model prepare" in re.sub(r"\s+", " ", " ".join(values("build", "RUN")))
    assert "https://download.pytorch.org/whl/cpu torch==" in " ".join(values("build-full", "RUN"))


def test_what_serving_needs_is_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert named(project["dependencies"]) - set(locked("light")) == set()
    lists = {
        "documents": "extras",
        "code": "extras",
        "backup": "extras",
        "cluster": "extras",
        "models": "models",
        "rerank": "models",
    }
    for extra, name in lists.items():
        assert named(project["optional-dependencies"][extra]) - set(locked(name)) == set(), extra


def named(requirements):
    return {normalised(re.split(r"[\s<>=!~;\[]", each)[0]) for each in requirements}


def normalised(name):
    return re.sub(r"[-_.]+", "-", name.lower())


@pytest.mark.parametrize("target", ["slim", "full"])
def test_the_image_runs_as_nobody_special_and_ends_on_sigterm(target):
    user = values(target, "USER")[-1]
    assert user.split(":")[0].isdigit()
    assert user.split(":")[0] != "0"
    assert values(target, "STOPSIGNAL") == ["SIGTERM"]
    assert json.loads(values(target, "VOLUME")[-1]) == ["/data"]
    assert json.loads(values(target, "ENTRYPOINT")[-1]) == ["strongroom"]
    assert "/health/ready" in values(target, "HEALTHCHECK")[-1]


def test_torch_has_one_version_everywhere():
    versions = set(re.findall(r"torch==([\d.]+)", DOCKERFILE.read_text() + (ROOT / "Makefile").read_text()))
    assert len(versions) == 1


def test_copied_paths_exist_and_are_let_through_by_dockerignore():
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignore
    sources = [path for name in stages() for copy in stage_copies(name) for path in copy]
    assert sources
    for path in sources:
        assert (ROOT / path).exists(), path
        assert f"!{path.split('/')[0]}" in ignore, path


def stage_copies(name):
    for word, rest in stages()[name][1]:
        if word == "COPY" and not rest.startswith("--from"):
            yield shlex.split(rest)[:-1]


def test_every_package_is_copied():
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = {path for copy in stage_copies("build") for path in copy}
    assert set(packages["packages"]) <= copied


def documented_commands():
    """Every strongroom command that the files run or recommend."""
    written = [json.loads(values("slim", "CMD")[-1]), TLS["services"]["server"]["command"], ["model", "prepare"]]
    for line in (ROOT / "compose.yaml").read_text().splitlines():
        if recommended := re.match(r"#.* exec server strongroom (.+)$", line):
            written.append(shlex.split(recommended[1]))
    return written


@pytest.mark.parametrize("command", documented_commands(), ids=" ".join)
def test_commands_and_flags_exist(command):
    words = [word for word in command[:2] if re.fullmatch(r"[a-z]+", word)]
    flags = [word.partition("=")[0] for word in command if word.startswith("--")]
    shown = help_of(*words) + help_of()  # global flags stand in the root's help, and may be given anywhere
    assert [flag for flag in flags if flag not in shown] == []


@cache
def help_of(*words):
    shown = Strongroom(ROOT / "data")(*words, "--help", NO_COLOR="1", COLUMNS="200", TERM="dumb")
    assert shown.code == 0, shown.err
    return shown.out


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_are_hardened_and_pinned(name):
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["pids_limit"] > 0
    assert service["mem_limit"]
    assert "privileged" not in service
    assert "docker.sock" not in json.dumps(service)
    assert re.search(r":v?\d+\.\d+\.\d+", service["image"])


def test_metrics_are_published_nowhere_and_the_server_on_loopback_unless_told():
    server = COMPOSE["services"]["server"]
    assert server["ports"] == ["${STRONGROOM_BIND:-127.0.0.1}:8700:8700"]
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert not [port for port in published if "9700" in port or "9090" in port]
    assert COMPOSE["networks"]["monitoring"] == {"internal": True}
    assert "9700" in server["expose"]
    assert server["build"]["target"] in stages()


def test_monitoring_starts_only_when_asked_for():
    plain = {name for name, service in COMPOSE["services"].items() if "profiles" not in service}
    assert plain == {"server"}


def test_docker_waits_longer_than_the_server_needs():
    from ops.settings import OpsSettings

    grace = float(COMPOSE["services"]["server"]["stop_grace_period"].removesuffix("s"))
    assert grace > OpsSettings().shutdown_grace_s + 2


@pytest.mark.parametrize("file", [COMPOSE, TLS], ids=["compose", "tls"])
def test_secrets_are_files_that_git_does_not_take(file):
    for name, secret in file["secrets"].items():
        path = Path(secret["file"])
        assert path.parent == Path("deploy/secrets"), name
    assert "*" in (ROOT / "deploy" / "secrets" / ".gitignore").read_text().splitlines()
    for service in file["services"].values():
        assert set(service.get("secrets", [])) <= set(file["secrets"])
        named = service.get("environment", {})
        assert [name for name in named if re.search(r"(PASSWORD|SECRET|TOKEN|KEY)$", name)] == []


def test_mounted_paths_and_volumes_exist():
    for service in COMPOSE["services"].values():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], source


def test_environment_names_settings_that_exist():
    from server.settings import load

    given = COMPOSE["services"]["server"]["environment"]
    built = dict(pair.split("=", 1) for env in values("slim", "ENV") for pair in env.split() if "STRONGROOM_" in pair)
    assert built
    defaults = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in (given | built).items()}
    loaded = load(environment=defaults)
    assert loaded.settings.auth.public_url == "http://localhost:8700"


# -- monitoring


BOARD = json.loads((ROOT / "deploy/grafana/dashboards/strongroom.json").read_text())
PANELS = [pytest.param(panel, id=panel["title"]) for panel in BOARD["panels"]]
VARIABLES = {each["name"]: each for each in BOARD["templating"]["list"]}
EXPOSED = (*DECLARED, *CLUSTER_DECLARED)
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")


def expressions():
    alerts = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())
    shown = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    return shown, [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]


def exposed_names():
    for metric in EXPOSED:
        if isinstance(metric, HistogramSpec):
            yield from (f"{metric.name}_{part}" for part in ("bucket", "sum", "count"))
        else:
            yield metric.name


def test_dashboard_and_alerts_use_metrics_and_labels_that_exist():
    shown, alerts = expressions()
    labels = {label for metric in EXPOSED for label in metric.labels} | {"le", "job", "instance"}
    for expression in shown + alerts:
        assert set(re.findall(r"strongroom_\w+", expression)) <= set(exposed_names()), expression
        grouped = [label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")]
        assert {*grouped, *re.findall(r'(\w+)(?:!=|=~|=)"', expression)} <= labels, expression
        assert set(re.findall(r'outcome!?="(\w+)"', expression)) <= outcome_labels() | set(get_args(ForwardOutcome)), (
            expression
        )
    processes = set(re.findall(r"process_\w+", " ".join(shown)))
    assert processes == {
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "process_open_fds",
        "process_max_fds",
    }


def test_every_metric_is_on_the_dashboard():
    shown = " ".join(expressions()[0])
    assert [metric.name for metric in EXPOSED if metric.name not in shown] == []


def unit_of(expression):
    """What an expression is counted in, by the names of its metrics."""
    names = " ".join(re.findall(r"(?:strongroom|process)_\w+", expression))
    if "_bytes" in names:
        return "share" if " / strongroom" in expression else "bytes"
    if re.search(r"_seconds(_bucket|_sum)?\b", names):
        return "time"
    return "share" if re.search(r"_(ratio|score)\b", names) else "count"


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_has_one_unit_and_one_axis(panel):
    assert panel["fieldConfig"]["overrides"] == []
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert len({unit_of(target["expr"]) for target in panel["targets"]}) == 1


def test_panels_do_not_lie_upon_each_other():
    boxes = [panel["gridPos"] for panel in BOARD["panels"]]
    taken = [
        (x, y)
        for box in boxes
        for x in range(box["x"], box["x"] + box["w"])
        for y in range(box["y"], box["y"] + box["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) == 23
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(boxes)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_shows_the_servers_that_are_chosen_and_tools_where_it_tells_them_apart(panel):
    for target in panel["targets"]:
        named = re.findall(r"(?:strongroom|process)_\w+(?:\{[^}]*\})?", target["expr"])
        assert [each for each in named if 'instance=~"$instance"' not in each] == []
        assert ("$tool" in target["expr"]) is ("{{tool}}" in target["legendFormat"])
        assert set(re.findall(r"\$(\w+)", target["expr"])) <= {*VARIABLES, "__rate_interval"}


@needs_promtool
def test_prometheus_takes_what_the_dashboard_asks_for(tmp_path):
    shown = [expression.replace("$__rate_interval", "5m") for expression in expressions()[0]]
    rules = [{"record": f"shown:{number}", "expr": each} for number, each in enumerate(shown)]
    (tmp_path / "shown.yml").write_text(yaml.safe_dump({"groups": [{"name": "shown", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", "shown.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_grafana_finds_its_source_and_its_dashboards():
    provisioning = ROOT / "deploy/grafana/provisioning"
    source = yaml.safe_load((provisioning / "datasources/prometheus.yaml").read_text())["datasources"][0]
    provider = yaml.safe_load((provisioning / "dashboards/strongroom.yaml").read_text())["providers"][0]
    assert {panel["datasource"]["uid"] for panel in BOARD["panels"]} == {"${datasource}"}
    assert VARIABLES["datasource"]["type"] == "datasource"
    assert VARIABLES["datasource"]["query"] == source["type"]
    assert VARIABLES["datasource"]["current"]["value"] == source["uid"]
    assert source["url"].split("//")[1].split(":")[0] in COMPOSE["services"]
    mounts = [mount.split(":")[1] for mount in COMPOSE["services"]["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts


def test_prometheus_scrapes_the_metrics_port_of_the_server():
    config = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
    assert config["scrape_configs"][0]["static_configs"] == [{"targets": ["server:9700"]}]
    mounted = {mount.split(":")[1] for mount in COMPOSE["services"]["prometheus"]["volumes"]}
    for file in config["rule_files"]:
        assert str(Path(file).parent) in mounted
        assert (ROOT / "deploy/prometheus" / Path(file).name).exists()


# -- several servers


CLUSTER = ROOT / "deploy" / "cluster"
SEVERAL = yaml.safe_load((CLUSTER / "compose.yaml").read_text())


@pytest.mark.parametrize("name", SEVERAL["services"])
def test_services_of_a_cluster_are_hardened_and_pinned(name):
    service = SEVERAL["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"]
    assert re.search(r":v?\d+\.\d+(\.\d+)?", service["image"])
    assert set(service.get("secrets", [])) <= set(SEVERAL["secrets"])
    assert [name for name in service.get("environment", {}) if re.search(r"(PASSWORD|URL|TOKEN|KEY)$", name)] in (
        [],
        ["STRONGROOM_AUTH__PUBLIC_URL"],
    )


def test_only_the_proxy_of_a_cluster_is_reached_from_outside():
    published = {name: each["ports"] for name, each in SEVERAL["services"].items() if "ports" in each}
    assert published == {"proxy": ["${STRONGROOM_BIND:-127.0.0.1}:8700:8700"]}
    assert SEVERAL["networks"]["database"] == {"internal": True}
    assert "postgres" not in [name for name, each in SEVERAL["services"].items() if "front" in each["networks"]]


def test_servers_of_a_cluster_differ_by_name_alone_and_have_settings_that_exist():
    from server.settings import load

    servers = {name: each for name, each in SEVERAL["services"].items() if "STRONGROOM_CLUSTER__NAME" in str(each)}
    assert set(servers) == {"alpha", "beta"}
    for name, service in servers.items():
        given = {key: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for key, value in service["environment"].items()}
        settings = load(environment=given).settings
        assert settings.cluster.name == name
        assert settings.cluster.is_on
        (subnet,) = (each["subnet"] for each in SEVERAL["networks"]["front"]["ipam"]["config"])
        assert settings.server.trusted_proxies == (subnet,)
        assert float(service["stop_grace_period"].removesuffix("s")) > settings.ops.shutdown_grace_s + 2
        assert f"{name}:8700" in (CLUSTER / "Caddyfile").read_text()


def test_the_tables_of_a_cluster_are_made_by_a_command_that_is_one():
    command = SEVERAL["services"]["tables"]["command"]
    shown = help_of(*command[:2])
    assert [word for word in command if word.startswith("--") and word not in shown] == []
    role = command[command.index("--role") + 1]
    assert f"CREATE ROLE {role} " in (CLUSTER / "roles.sql").read_text()


@pytest.mark.skipif(shutil.which("caddy") is None, reason="needs Caddy")
def test_caddy_takes_its_file_of_a_cluster(tmp_path):
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(CLUSTER / "Caddyfile")]
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **home})
    assert done.returncode == 0, done.stderr
