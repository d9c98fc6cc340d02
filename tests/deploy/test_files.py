"""The files of deploy/ say what the service understands: its settings, ports, paths, and how it wants to be run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.__main__ import HEADERS_MS, STOP_S
from service.settings import Settings, read

DEPLOY = Path(__file__).parents[2] / "deploy"
VARIABLES = set(Settings.__struct_encode_fields__)
PATHS = json.loads((DEPLOY.parent / "openapi/openapi.json").read_text())["paths"]

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
UNIT = (DEPLOY / "systemd/emberdice.service").read_text()
OBJECTS: list[dict[str, Any]] = [
    each
    for name in yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text())["resources"]
    for each in yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text())
]


def named(kind, name):
    (found,) = [each for each in OBJECTS if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


DEPLOYMENT = named("Deployment", "emberdice")
(CONTAINER,) = DEPLOYMENT["spec"]["template"]["spec"]["containers"]


def assignments(text):
    return dict(re.findall(r"(?m)^#?([A-Z][A-Z_]+)=(\S*)", text))


SET = {
    "Dockerfile": dict(re.findall(r"\b([A-Z_]+)=(\S+)", re.search(r"(?m)^ENV PATH.*$", DOCKERFILE)[0])),
    "compose.yaml": COMPOSE["emberdice"]["environment"],
    "kubernetes": {each["name"]: each.get("value", "") for each in CONTAINER["env"]},
    "emberdice.service": dict(word.split("=") for word in re.search(r"(?m)^Environment=(.*)$", UNIT)[1].split()),
    "emberdice.env": assignments((DEPLOY / "systemd/emberdice.env").read_text()),
    "nginx.conf": dict(re.findall(r"([A-Z_]+)=(\S+)", (DEPLOY / "proxy/nginx.conf").read_text())),
}
OF_OTHERS = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


@pytest.mark.parametrize("where", SET)
def test_every_variable_that_is_set_is_one_of_the_service(where):
    given = {name: value for name, value in SET[where].items() if name not in OF_OTHERS}
    assert given
    assert set(given) <= VARIABLES
    read({name: value for name, value in given.items() if value and "$" not in value and "%" not in value})


def test_the_image_runs_as_nobody_in_particular_from_hashed_locks_and_says_whether_it_is_well():
    last = DOCKERFILE.split("FROM ")[-1]
    assert re.search(r"(?m)^USER [1-9][0-9]{3,}$", last)
    assert "--require-hashes" in DOCKERFILE
    assert "HEALTHCHECK" in last
    assert "VOLUME /data" in last
    assert all(re.match(r"python:3\.\d+-slim-\w+\b", each) for each in DOCKERFILE.split("FROM ")[1:])
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    copied = {each[2] for each in re.finditer(r"(?m)^COPY (--\S+ )?(\S+) ", DOCKERFILE) if not each[1]}
    assert copied == {each[1:] for each in ignored if each.startswith("!")}


def health_command():
    """As the image has it."""
    return [sys.executable, *json.loads(re.search(r"HEALTHCHECK[^\[]*CMD (\[.*\])", DOCKERFILE)[1])[1:]]


def test_the_image_s_health_check_tells_a_ready_service_from_none(service):
    port = service.address.rpartition(":")[2]
    for asked, status in ((port, 0), ("1", 1)):
        ran = subprocess.run(health_command(), env={"PORT": asked}, capture_output=True, check=False, timeout=30)
        assert ran.returncode == status


@pytest.mark.parametrize("name", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_ask_paths_that_there_are(name):
    asked = CONTAINER[name]["httpGet"]
    assert asked["path"] in PATHS
    assert asked["port"] in {each["name"] for each in CONTAINER["ports"]}


def test_liveness_does_not_depend_on_redis():
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] == "/health/live"
    assert CONTAINER["readinessProbe"]["httpGet"]["path"] == "/health/ready"


@pytest.mark.parametrize(("kind", "name"), [("Deployment", "emberdice"), ("StatefulSet", "valkey")])
def test_pods_are_what_a_restricted_namespace_admits(kind, name):
    assert named("Namespace", "emberdice")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    spec = named(kind, name)["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        own = container["securityContext"]
        assert own == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        assert all(mount["name"] in _volumes(named(kind, name)) for mount in container["volumeMounts"])


def _volumes(owner):
    claims = [each["metadata"]["name"] for each in owner["spec"].get("volumeClaimTemplates", [])]
    return {*claims, *(each["name"] for each in owner["spec"]["template"]["spec"]["volumes"])}


def test_kubernetes_sets_no_variables_that_look_like_settings():
    assert DEPLOYMENT["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_selectors_find_the_pods():
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"] for each in OBJECTS if _has_pods(each)
    }
    assert set(labels) == {"emberdice", "valkey"}
    for kind, places in {"Service": ("spec", "selector"), "NetworkPolicy": ("spec", "podSelector", "matchLabels")}.items():
        for name, wanted in labels.items():
            found = named(kind, name)
            for place in places:
                found = found[place]
            assert found == wanted
    assert named("PodDisruptionBudget", "emberdice")["spec"]["selector"]["matchLabels"] == labels["emberdice"]


def _has_pods(each):
    return "template" in each["spec"] if "spec" in each else False


def test_a_full_store_refuses_and_throws_nothing_away():
    told = named("ConfigMap", "valkey")["data"]["valkey.conf"].splitlines()
    (flags,) = (part for part in COMPOSE["valkey"]["command"] if "valkey-server" in part)
    for name, value in {"maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "always"}.items():
        assert f"{name} {value}" in told
        assert f"--{name} {value} " in flags
    assert "maxmemory 512mb" in told
    assert "--maxmemory 512mb " in flags


def test_the_supervisors_wait_longer_than_the_service_takes_to_stop():
    assert DEPLOYMENT["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= STOP_S + 5
    assert int(re.search(r"TimeoutStopSec=(\d+)", UNIT)[1]) > STOP_S
    assert int(COMPOSE["emberdice"]["stop_grace_period"].removesuffix("s")) > STOP_S


def test_the_proxies_keep_connections_for_less_time_than_the_service():
    for name, pattern in {"nginx.conf": r"keepalive_timeout (\d+)s", "Caddyfile": r"keepalive (\d+)s"}.items():
        assert int(re.search(pattern, (DEPLOY / "proxy" / name).read_text())[1]) * 1_000 < HEADERS_MS


def test_no_secret_stands_in_a_file():
    for path in (each for each in DEPLOY.rglob("*") if each.is_file() and "integrations" not in each.parts):
        text = path.read_text(errors="replace")
        assert not re.search(r"ember_(gm|player|chat|observer)_[\w-]{20,}", text), path
