"""Dashboard and alerts ask for metrics and labels that a live service has."""

import json
import re
from pathlib import Path

import httpx
import pytest
import yaml

from tests.live import Service, Table, until

MONITORING = Path(__file__).parents[2] / "deploy/monitoring"
TOKEN = "an-operator-s-own"
OF_PROMETHEUS = {"instance", "job", "le"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """With two workers, so that it is read how they are put together."""
    service = Service(tmp_path_factory.mktemp("watched"), workers=2, EMBERDICE_METRICS_TOKEN=TOKEN)
    try:
        yield service.start()
    finally:
        service.kill()


def scraped(service):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx.get(f"{service.address}/metrics", headers=headers)
    assert answer.status_code == 200
    return answer.text


@pytest.fixture(scope="module")
async def metrics(service, anyio_backend):
    """Labels by the name of the metric, after one step and one fault of each kind."""
    async with service.client() as client:
        table = await Table.open(client, characters=["Zoé"])
        await table.ask("POST /decks/light/draws", {"character": "zoe"})
        await table.ask("GET", by="wrong")
    found: dict[str, set[str]] = {}
    for name, labels in re.findall(r"(?m)^(\w+)(\{.*\})? \S+$", scraped(service)):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


RULES = yaml.safe_load((MONITORING / "emberdice.rules.yaml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
ASKED = {
    **{rule.get("alert", rule.get("record")): rule["expr"] for rule in RULES},
    **{panel["title"]: "\n".join(each["expr"] for each in panel["targets"]) for panel in DASHBOARD["panels"]},
    "variables": " ".join(each.get("definition", "") for each in DASHBOARD["templating"]["list"]),
}


@pytest.mark.anyio
@pytest.mark.parametrize("asked", ASKED)
async def test_what_is_asked_for_is_there(asked, metrics):
    expression = ASKED[asked]
    names = set(re.findall(r"\b(emberdice_\w+|up)\b", expression)) - {"up"}
    assert names <= set(metrics), names - set(metrics)
    assert names or expression.startswith("up{")
    known = OF_PROMETHEUS.union(*(metrics[name] for name in names))
    grouped = {label.strip() for found in re.findall(r"\bby \(([^)]*)\)", expression) for label in found.split(",")}
    selected = set(re.findall(r'(\w+)=~?"', expression))
    assert grouped | selected <= known


def test_the_dashboard_fits_on_its_grid():
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    assert all(each["x"] + each["w"] <= 24 for each in places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)
    cells = [(x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
    assert len(cells) == len(set(cells))


@pytest.mark.anyio
async def test_open_streams_are_counted(service):
    async with service.client() as client:
        table = await Table.open(client)
        headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {table.tokens['gm']}"}
        async with client.stream("GET", f"/v1/sessions/{table.id}/events", headers=headers):
            until(lambda: "\nemberdice_listeners 1.0\n" in scraped(service))
    until(lambda: "\nemberdice_listeners 0.0\n" in scraped(service))


@pytest.mark.parametrize(
    "told", [{}, {"Authorization": "Bearer"}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN[:-1]}]
)
def test_metrics_are_for_the_operator(service, told):
    assert httpx.get(f"{service.address}/metrics", headers=told).status_code == 401
