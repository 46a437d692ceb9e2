"""The chart in deploy/helm: what it renders to is as strict as compose.yaml, and Helm itself takes it where it is."""

from __future__ import annotations

import json
import re
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from ops.health import HealthRegistry
from ops.settings import OpsSettings
from server.http.health import health_routes
from server.settings import LoadedSettings, Settings, load
from tests.contracts.charts import (
    ALERTS,
    CHART,
    GOLDEN,
    HELM,
    ROOT,
    VALUES,
    Manifest,
    as_golden,
    digest,
    helm,
    one,
    render,
)

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
EVERYTHING = yaml.safe_load((CHART / "ci" / "everything.yaml").read_text())
CLUSTER = yaml.safe_load((CHART / "ci" / "cluster.yaml").read_text())
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["server"]
CASES = pytest.mark.parametrize("case", VALUES)
needs_helm = pytest.mark.skipif(HELM is None, reason="needs helm")


def pod(case: str) -> Manifest:
    found: Manifest = one(case, "StatefulSet")["spec"]["template"]["spec"]
    return found


def server(case: str) -> Manifest:
    (container,) = pod(case)["containers"]
    assert isinstance(container, dict)
    return container


def settings(case: str, folder: Path) -> LoadedSettings:
    """What the server reads of the file that the chart makes."""
    file = folder / "strongroom.toml"
    file.write_text(one(case, "ConfigMap")["data"]["strongroom.toml"])
    return load(folder, file, environment={})


# -- values


@CASES
def test_the_golden_file_is_of_this_chart(case: str) -> None:
    head = (GOLDEN / f"{case}.yaml").read_text().splitlines()[0]
    assert head == f"# Of the chart {digest()}", "run: python -m tests.contracts.charts (needs helm)"


@pytest.mark.parametrize("values", [DEFAULTS, EVERYTHING, CLUSTER], ids=list(VALUES))
def test_the_schema_takes_the_values(values: dict[str, Any]) -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(values)
    assert set(SCHEMA["properties"]) == {*DEFAULTS, "global"}


@pytest.mark.parametrize(
    "values",
    [
        {"imag": {}},
        {"settings": {"srever": {}}},
        {"settings": {"server": 8700}},
        {"secretFiles": {"auth.token": {"name": "a", "key": "b"}}},
        {"secretFiles": {"limits.licence_file": "the licence itself"}},
        {"ingress": {"enabled": True, "host": ""}},
        {"storage": {"accessModes": ["ReadWriteMany"]}},
        {"disruption": {"maxUnavailable": 2}},
        {"user": 0},
        {"cluster": {"replicas": 0}},
        {"cluster": {"url": "postgresql://a:b@c/d"}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_is_wrong(values: dict[str, Any]) -> None:
    assert not jsonschema.Draft7Validator(SCHEMA).is_valid(values)


def names_of(model: type[BaseModel]) -> Iterator[str]:
    for section, field in model.model_fields.items():
        for name in getattr(field.annotation, "model_fields", ()):
            yield f"{section}.{name}"


def test_the_schema_knows_every_section_and_every_setting_that_names_a_secret_file() -> None:
    assert set(SCHEMA["properties"]["settings"]["properties"]) == set(Settings.model_fields)
    secret = {name for name in names_of(Settings) if name.endswith("_file") and not name.endswith(".max_file")}
    assert set(SCHEMA["properties"]["secretFiles"]["properties"]) == secret | {"server.tls_cert", "server.tls_key"}


def test_every_setting_that_reaches_out_needs_a_rule_for_it() -> None:
    text = (CHART / "templates" / "_settings.tpl").read_text()
    looked_at = set(re.findall(r'"((?!strongroom\.)[a-z]+(?:\.\w+)+)"', text))
    known = {*names_of(Settings), "social.moltbook.url"}
    assert looked_at - known == set()
    reaching = {name for name in known if re.search(r"(endpoint|url|syslog|webhook|issuers|providers|hosts)$", name)}
    ours = {"auth.public_url", "server.allowed_hosts"}
    bucket = {"backup.endpoint"}  # goes with backup.to
    assert reaching - ours - bucket - looked_at == set()


def test_alerts_stand_in_one_place() -> None:
    assert (CHART / "alerts.yml").is_symlink()
    assert (CHART / "alerts.yml").resolve() == ALERTS


def test_streams_pass_the_ingress_as_they_pass_nginx() -> None:
    nginx = (ROOT / "deploy" / "proxy" / "nginx.conf").read_text()
    given = dict(re.findall(r"^\s+((?:proxy|client)_[a-z_]+) (off|1h|0);$", nginx, re.MULTILINE))
    seconds = {"1h": "3600"}
    asked = {name.replace("_", "-"): seconds.get(value, value) for name, value in given.items()}
    asked["proxy-body-size"] = asked.pop("client-max-body-size")
    annotations: dict[str, str] = DEFAULTS["ingress"]["annotations"]
    prefix = "nginx.ingress.kubernetes.io/"
    assert {name.removeprefix(prefix): each for name, each in annotations.items() if name.startswith(prefix)} == asked
    shown = one("everything", "Ingress")["metadata"]["annotations"]
    assert "nginx.org/proxy-buffering" not in shown, "what is null is left out"
    assert shown[f"{prefix}backend-protocol"] == "HTTPS"


# -- what it renders to


@CASES
def test_the_pod_is_as_hardened_as_compose(case: str) -> None:
    user = int(re.findall(r"^USER (\d+):\d+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[-1])
    of_pod = pod(case)["securityContext"]
    assert {of_pod[name] for name in ("runAsUser", "runAsGroup", "fsGroup")} == {user}
    assert of_pod["runAsNonRoot"] is True
    assert of_pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert server(case)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": COMPOSE["read_only"],
        "capabilities": {"drop": COMPOSE["cap_drop"]},
    }
    assert server(case)["resources"]["limits"] == {"memory": COMPOSE["mem_limit"].replace("g", "Gi")}
    (scratch,) = (each["emptyDir"] for each in pod(case)["volumes"] if each["name"] == "tmp")
    assert COMPOSE["tmpfs"] == [f"/tmp:size={scratch['sizeLimit'].removesuffix('i').lower()},mode=1777"]
    assert scratch["medium"] == "Memory"
    for way in ("hostNetwork", "hostPID", "hostIPC"):
        assert way not in pod(case)


@CASES
def test_nothing_of_the_cluster_comes_into_the_pod_by_itself(case: str) -> None:
    assert pod(case)["automountServiceAccountToken"] is False
    # Variables of a Service named strongroom begin with STRONGROOM_, and the server takes no unknown ones.
    assert pod(case)["enableServiceLinks"] is False


@pytest.mark.parametrize("case", ["defaults", "everything"])
def test_one_server_has_the_volume_and_the_time_to_end(case: str, tmp_path: Path) -> None:
    wanted = one(case, "StatefulSet")["spec"]
    assert wanted["replicas"] == 1
    assert wanted["serviceName"] == one(case, "Service", "-metrics")["metadata"]["name"]
    (claim,) = wanted["volumeClaimTemplates"]
    assert {
        each["mountPath"] for each in server(case)["volumeMounts"] if each["name"] == claim["metadata"]["name"]
    } == {"/data"}
    grace = settings(case, tmp_path).settings.ops.shutdown_grace_s
    assert pod(case)["terminationGracePeriodSeconds"] > grace + 2
    assert (case == "defaults") is (grace == OpsSettings().shutdown_grace_s)


@CASES
def test_probes_ask_what_the_server_answers(case: str) -> None:
    paths = {route.path for route in health_routes(HealthRegistry())}
    scheme = "HTTPS" if case == "everything" else "HTTP"
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = server(case)[probe]["httpGet"]
        assert asked["path"] in paths
        assert (asked["port"], asked["scheme"]) == ("mcp", scheme)
    ports = {each["name"]: each["containerPort"] for each in server(case)["ports"]}
    words = server(case)["args"]
    assert ports == {
        "mcp": int(words[words.index("--port") + 1]),
        "metrics": int(words[words.index("--metrics-port") + 1]),
        **({"peers": 8701} if case == "cluster" else {}),
    }
    assert set(re.findall(r"/health/\w+", (ROOT / "Dockerfile").read_text())) == {"/health/ready"}


def test_the_server_reads_the_settings(tmp_path: Path) -> None:
    plain = settings("defaults", tmp_path).settings
    assert plain.auth.public_url == "http://memory-strongroom.agents.svc:8700"
    assert "memory-strongroom.agents.svc:*" in plain.server.allowed_hosts
    assert plain.auth.first_token_ttl == "none"
    loaded = settings("everything", tmp_path).settings
    assert loaded.auth.public_url == "https://memory.example.org"
    assert loaded.server.allowed_hosts[0] == "memory.example.net"
    assert loaded.auth.issuers[0].require_scope is False
    assert loaded.plans["team-a"].memories == 1000
    assert loaded.social.moltbook.url == "https://www.moltbook.com/api/v1"
    assert loaded.embedding.query_prefix == 'ask "it" <in> R&D, für\tuns: '


def test_secrets_are_mounted_where_the_settings_look_and_stand_nowhere_else(tmp_path: Path) -> None:
    (volume,) = (each["projected"] for each in pod("everything")["volumes"] if each["name"] == "secrets")
    (place,) = (each["mountPath"] for each in server("everything")["volumeMounts"] if each["name"] == "secrets")
    mounted = {
        item["path"]: f"{place}/{item['path']}" for each in volume["sources"] for item in each["secret"]["items"]
    }
    assert set(mounted) == set(EVERYTHING["secretFiles"])
    written = tomllib.loads(one("everything", "ConfigMap")["data"]["strongroom.toml"])
    read = {f"{section}.{name}": value for section, fields in written.items() for name, value in fields.items()}
    assert mounted.items() <= read.items()
    assert volume["defaultMode"] == 0o440
    assert {each["name"] for each in server("everything")["env"]} == {"STRONGROOM_DATA", "STRONGROOM_CONFIG"}


def test_the_network_is_shut_but_for_what_is_named() -> None:
    plain = one("defaults", "NetworkPolicy")["spec"]
    assert plain["policyTypes"] == ["Ingress", "Egress"]
    assert plain["ingress"] == [{"ports": [{"protocol": "TCP", "port": "mcp"}]}]
    assert [port["port"] for rule in plain["egress"] for port in rule["ports"]] == [53, 53]
    assert all(rule["to"] for rule in plain["egress"])
    chosen = one("everything", "NetworkPolicy")["spec"]
    assert [(rule["ports"][0]["port"], bool(rule["from"])) for rule in chosen["ingress"]] == [
        ("mcp", True),
        ("metrics", True),
    ]
    assert chosen["egress"][1:] == EVERYTHING["networkPolicy"]["egress"]


def test_services_keep_metrics_apart() -> None:
    assert [port["name"] for port in one("everything", "Service")["spec"]["ports"]] == ["mcp"]
    metrics = one("everything", "Service", "-metrics")
    assert [port["name"] for port in metrics["spec"]["ports"]] == ["metrics"]
    assert metrics["spec"]["type"] == "ClusterIP"
    monitor = one("everything", "ServiceMonitor")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= metrics["metadata"]["labels"].items()
    assert {"targetLabel": "job", "replacement": "strongroom"} in monitor["endpoints"][0]["relabelings"]


def test_whatever_chooses_pods_chooses_this_one() -> None:
    labels = one("everything", "StatefulSet")["spec"]["template"]["metadata"]["labels"].items()
    for kind, suffix in (("Service", ""), ("Service", "-metrics")):
        assert one("everything", kind, suffix)["spec"]["selector"].items() <= labels
    for kind, where in (
        ("StatefulSet", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert one("everything", kind)["spec"][where]["matchLabels"].items() <= labels


# -- several servers


def test_servers_of_a_cluster_are_caches_that_find_each_other_by_address(tmp_path: Path) -> None:
    wanted = one("cluster", "StatefulSet")["spec"]
    assert (wanted["replicas"], wanted["podManagementPolicy"]) == (3, "Parallel")
    assert "volumeClaimTemplates" not in wanted
    (data,) = (each for each in pod("cluster")["volumes"] if each["name"] == "data")
    assert data == {"name": "data", "emptyDir": {"sizeLimit": "50Gi"}}
    given = {each["name"]: each.get("valueFrom", each.get("value")) for each in server("cluster")["env"]}
    read = settings("cluster", tmp_path).settings.cluster
    assert read.is_on
    assert (read.url, read.lease_s) == (None, 5)
    assert given["STRONGROOM_CLUSTER__HOST"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert given["STRONGROOM_CLUSTER__NAME"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert {"name": "peers", "containerPort": read.port} in server("cluster")["ports"]


def test_a_pod_of_a_cluster_has_the_time_to_hand_its_vaults_over(tmp_path: Path) -> None:
    grace = settings("cluster", tmp_path).settings.ops.shutdown_grace_s
    assert grace == CLUSTER["cluster"]["drainSeconds"]
    (waits,) = re.findall(r"sleep\((\d+)\)", server("cluster")["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert pod("cluster")["terminationGracePeriodSeconds"] >= grace + int(waits) + 5
    assert "lifecycle" not in server("defaults"), "one server has nobody to hand anything to"


def test_servers_of_a_cluster_speak_to_each_other_and_nobody_else_comes_in_there() -> None:
    policy = one("cluster", "NetworkPolicy")["spec"]
    ours = {"podSelector": {"matchLabels": policy["podSelector"]["matchLabels"]}}
    assert {"ports": [{"protocol": "TCP", "port": "peers"}], "from": [ours]} in policy["ingress"]
    assert {"ports": [{"protocol": "TCP", "port": 8701}], "to": [ours]} in policy["egress"]
    assert policy["egress"][2:] == CLUSTER["networkPolicy"]["egress"]
    (out,) = (port["port"] for port in one("cluster", "Service")["spec"]["ports"])
    assert out == 8700, "what servers ask each other is in no Service"


def test_the_authority_of_the_database_is_mounted_alone() -> None:
    (volume,) = (each["secret"] for each in pod("cluster")["volumes"] if each["name"] == "database")
    assert volume["secretName"] == "postgres-ca"
    assert volume["items"] == [{"key": "ca.crt", "path": "ca.crt"}]
    (place,) = (each for each in server("cluster")["volumeMounts"] if each["name"] == "database")
    assert (place["mountPath"], place["readOnly"]) == ("/etc/strongroom/database", True)


def test_servers_of_a_cluster_lie_on_nodes_and_in_zones_of_their_own_where_there_are_enough() -> None:
    spread = pod("cluster")["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    labels = one("cluster", "StatefulSet")["spec"]["template"]["metadata"]["labels"].items()
    assert all(each["labelSelector"]["matchLabels"].items() <= labels for each in spread)


# -- Helm itself


@needs_helm
@CASES
def test_helm_renders_what_the_golden_file_says(case: str) -> None:
    helm("lint", "--strict", str(CHART), *VALUES[case])
    assert as_golden(render(*VALUES[case])) == (GOLDEN / f"{case}.yaml").read_text()


@needs_helm
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("settings.backup.secret_key=x", "put it into a Secret"),
        ("settings.server.port=8800", "is set by the chart"),
        ("settings.auth.mode=none", "everybody the owner"),
        ("settings.embedding.endpoint=http://ollama:11434", "networkPolicy.egress lets nothing out"),
        ("settings.backup.to=s3://bucket", "networkPolicy.egress lets nothing out"),
        ("settings.srever.port=1", "srever"),
        ("settings.cluster.url=postgresql://a:b@c/d", "put it into a Secret"),
        ("settings.cluster.address=a:1", "for each pod"),
        ("cluster.enabled=true", "belong together"),
        (
            "cluster.enabled=true,secretFiles.cluster\\.url_file.name=a,secretFiles.cluster\\.url_file.key=b",
            "add a rule",
        ),
    ],
)
def test_helm_refuses_values_that_would_not_do(given: str, said: str) -> None:
    refused = helm("template", "memory", str(CHART), "--set", given, check=False)
    assert refused.returncode != 0
    assert said in refused.stderr


@needs_helm
def test_a_packed_chart_holds_the_alerts(tmp_path: Path) -> None:
    helm("package", str(CHART), "--destination", str(tmp_path))
    (packed,) = tmp_path.glob("strongroom-*.tgz")
    with tarfile.open(packed) as archive:
        held = archive.extractfile("strongroom/alerts.yml")
        assert held is not None
        assert held.read() == ALERTS.read_bytes()
        assert "strongroom/ci/everything.yaml" not in archive.getnames()
