"""nginx with deploy/proxy/nginx.conf in front of the service: prefix, streams, addresses, limits, and no token in a log."""

import re
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.live import Service, until
from tests.tools import tool

CONF = Path(__file__).parents[2] / "deploy/proxy/nginx.conf"
HOST = "games.example"
PREFIX = f"https://{HOST}/dice"
AROUND = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/start.log;
events {{ worker_connections 512; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {conf}
}}
"""


class Nginx:
    """The file as it is, but for ports and folders."""

    def __init__(self, folder, service_port):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        ask = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={HOST}"
        subprocess.run(
            [
                tool("openssl"),
                *ask.split(),
                "-addext",
                f"subjectAltName=DNS:{HOST},IP:127.0.0.1",
                "-keyout",
                key,
                "-out",
                certificate,
            ],
            check=True,
            capture_output=True,
        )
        text = CONF.read_text()
        for written, here in {
            "listen 443 ssl": f"listen 127.0.0.1:{self.port} ssl",
            "127.0.0.1:8000": f"127.0.0.1:{service_port}",
            "/etc/ssl/games.example.pem": str(certificate),
            "/etc/ssl/games.example.key": str(key),
            "/var/log/nginx": str(folder),
        }.items():
            assert written in text
            text = text.replace(written, here)
        self.conf = folder / "nginx.conf"
        self.conf.write_text(AROUND.format(folder=folder, conf=text))
        self.trust = ssl.create_default_context(cafile=certificate)

    def run(self, *more):
        return subprocess.Popen([tool("nginx"), "-c", self.conf, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def client(self):
        """As a browser that finds games.example here."""
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.port}/dice",
            headers={"Host": HOST},
            verify=self.trust,
            timeout=20,
        )

    def get(self, path, **told):
        with self.client() as client:
            return client.get(path, **told)

    def logs(self):
        return "".join(each.read_text() for each in self.folder.glob("*.log"))


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    """The service with the settings that the file asks for."""
    tool("nginx")
    told = dict(re.findall(r"([A-Z_]+)=(\S+)", CONF.read_text()))
    told = {name: value for name, value in told.items() if name in ("PUBLIC_URL", "EMBERDICE_TRUSTED_PROXIES")}
    assert told["PUBLIC_URL"] == PREFIX
    service = Service(tmp_path_factory.mktemp("behind"), workers=1, EMBERDICE_FAILURES_PER_MINUTE="5", **told)
    try:
        yield service.start()
    finally:
        service.kill()


@pytest.fixture(scope="module")
def nginx(behind, tmp_path_factory):
    nginx = Nginx(tmp_path_factory.mktemp("nginx"), behind.address.rpartition(":")[2])
    tried = nginx.run("-t")
    assert tried.wait(20) == 0, tried.stderr.read()
    running = nginx.run()
    try:
        until(lambda: _listens(nginx.port))
        yield nginx
    finally:
        running.terminate()
        running.wait(20)
        running.stderr.close()
        tried.stderr.close()


def _listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def table(nginx):
    with nginx.client() as client:
        answer = client.post("/v1/sessions", json={"characters": ["Zoé"]})
        assert answer.status_code == 201
        told = answer.json()
        path = f"/v1/sessions/{told['id']}"
        assert answer.headers["location"] == f"{PREFIX}{path}"
        minted = client.post(
            f"{path}/tokens",
            json={"role": "chat"},
            headers={"Authorization": f"Bearer {told['tokens']['gm']}"},
        )
        return path, told["tokens"], minted.json()["token"]


def test_everything_is_below_the_prefix(nginx):
    assert nginx.get("/v1/sixd6/roll?base=1&faces=5&format=text").text == "Success: 1 success (reaches Easy). Dice: 5.\n"
    assert nginx.get("/openapi.json").json()["servers"] == [{"url": PREFIX}]
    problem = nginx.get("/v1/nothing").json()
    assert problem["type"] == f"{PREFIX}/problems/not-found"
    assert nginx.get("/problems/not-found").json()["code"] == "not-found"
    docs = nginx.get("/docs")
    for asset in re.findall(r'(?:src|href)="([^":]+)"', docs.text):
        assert nginx.get(str(docs.url.join(asset))).status_code == 200


def test_an_event_comes_at_once(nginx, table):
    path, tokens, _ = table
    headers = {"Authorization": f"Bearer {tokens['player']}"}
    with (
        nginx.client() as client,
        client.stream(
            "GET",
            f"{path}/events",
            headers={**headers, "Accept": "text/event-stream"},
            timeout=10,
        ) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == ": "
        drawn = client.post(f"{path}/decks/light/draws", json={"character": "zoe"}, headers=headers)
        data = next(line for line in lines if line.startswith("data: "))
    assert f'"id":"{drawn.json()["event"]}"' in data


def test_the_caller_s_own_word_about_its_address_is_dropped(nginx, behind, table):
    """Everybody is 127.0.0.1 here, which is exempt from the limit; a forged address would be counted."""
    path, _, _ = table
    for _ in range(8):
        answer = nginx.get(path, headers={"X-Forwarded-For": "203.0.113.7", "Authorization": "Bearer ember_gm_wrong"})
        assert answer.status_code == 401


def test_an_address_that_the_proxy_tells_is_counted(behind, table):
    """As nginx would tell it for a caller from elsewhere."""
    path, _, _ = table
    told = {"X-Forwarded-For": "203.0.113.8", "Authorization": "Bearer ember_gm_wrong"}
    seen = [httpx.get(f"{behind.address}{path}", headers=told).status_code for _ in range(12)]  # a minute may turn
    assert 429 in seen
    assert set(seen) == {401, 429}


def test_metrics_are_not_for_the_world(nginx):
    assert nginx.get("/metrics").status_code == 403


def test_no_token_reaches_a_log_of_the_proxy(nginx, behind, table):
    path, _, chat = table
    quick = path.replace("sessions", "quick")
    assert nginx.get(f"{quick}/cards", params={"token": chat}, headers={"Referer": f"https://x/?token={chat}"}).is_success
    behind.stop()
    try:
        assert nginx.get(f"{quick}/cards", params={"token": chat}).status_code == 502
    finally:
        behind.start()
    until(lambda: nginx.logs().count(f"{quick}/cards") == 2)
    assert chat not in nginx.logs()
    assert "token=" not in nginx.logs()
