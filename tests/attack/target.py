"""What is attacked: a service over HTTP and over raw sockets, and its log where it is our own."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.live import Service

CONTRACT = json.loads((Path(__file__).parents[2] / "openapi/openapi.json").read_text())
METRICS_TOKEN = "metrics-for-the-operator"
PATIENCE_S = 5.0
"""An answer that takes longer, while nothing else is asked for, is a finding."""

LOW_LIMITS = {
    "EMBERDICE_TRUSTED_PROXIES": "127.0.0.1",  # so that the attacker, as that proxy, can come from anywhere
    "EMBERDICE_FAILURES_PER_MINUTE": "6",
    "EMBERDICE_CREATIONS_PER_MINUTE": "5",
    "EMBERDICE_MAX_SESSIONS": "60",
    "EMBERDICE_MAX_STREAMS": "30",
    "EMBERDICE_STREAMS_PER_ADDRESS": "10",
    "EMBERDICE_METRICS_TOKEN": METRICS_TOKEN,
}


@contextmanager
def own_service(folder: Path) -> Iterator[Service]:
    service = Service(folder, workers=1, **LOW_LIMITS)
    try:
        yield service.start()
    finally:
        service.kill()


@dataclass
class Table:
    """A session that the attacker may use, or must not."""

    id: str
    tokens: dict[str, str]

    @property
    def path(self) -> str:
        return f"/v1/sessions/{self.id}"


@dataclass
class Target:
    address: str
    log: Callable[[], str] | None = None
    """What the service has logged; None where it is not ours."""
    limits: dict[str, str] = field(default_factory=dict)
    """Its settings, where we know them."""
    _addresses: int = 0

    def __post_init__(self) -> None:
        place = urlsplit(self.address)
        self.host, self.port, self.prefix = place.hostname or "", place.port or 80, place.path.rstrip("/")
        self.http = httpx.Client(base_url=self.address, timeout=30, trust_env=False)

    def close(self) -> None:
        self.http.close()

    # HTTP as a client library speaks it.

    def ask(self, method: str, path: str, by: str | None = None, come_from: str = "", **told: Any) -> httpx.Response:
        """`by` is a token, `come_from` an address that the proxy tells."""
        headers = dict(told.pop("headers", None) or {})
        if by is not None:
            headers["Authorization"] = f"Bearer {by}"
        if come_from:
            headers.setdefault("X-Forwarded-For", come_from)
        return self.http.request(method, path, headers=headers, **told)

    def address_of_nobody(self) -> str:
        """A caller that was not seen before."""
        self._addresses += 1
        return f"198.51.{self._addresses // 250}.{self._addresses % 250 + 1}"

    def table(self, **wanted: Any) -> Table:
        """An open table with a token of each role."""
        told = {"characters": ["Zoé", "Max"], "settings": {"tier_size": 3}, **wanted}
        answer = self.ask("POST", "/v1/sessions", json=told)
        answer.raise_for_status()
        opened = answer.json()
        table = Table(opened["id"], dict(opened["tokens"]))
        for role in ("chat", "observer"):
            minted = self.ask("POST", f"{table.path}/tokens", by=table.tokens["gm"], json={"role": role})
            minted.raise_for_status()
            table.tokens[role] = minted.json()["token"]
        return table

    # HTTP as nobody should speak it.

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection((self.host, self.port), timeout=PATIENCE_S) as line:
            yield line

    def raw(self, sent: bytes, wait_s: float = 1.0) -> bytes:
        """All that comes back until the line is closed or silent for so long."""
        said = b""
        with self.connected() as line:
            line.settimeout(wait_s)
            with suppress(OSError):  # closed while we sent; what it said is still there
                line.sendall(sent)
            with suppress(OSError):
                while part := line.recv(65_536):
                    said += part
        return said

    def lines(self, count: int, stack: ExitStack) -> list[socket.socket]:
        """Connections that stay open until the stack is left."""
        return [stack.enter_context(self.connected()) for _ in range(count)]

    def get_raw(self, path: str, *headers: str) -> bytes:
        """A GET whose path is sent as it is written."""
        told = "".join(f"{each}\r\n" for each in headers)
        return self.raw(f"GET {path} HTTP/1.1\r\nHost: dice.example\r\nConnection: close\r\n{told}\r\n".encode())

    def answers(self) -> str:
        """Nothing if the service answers others in time, else what is wrong."""
        started_s = time.monotonic()
        try:
            answer = httpx.get(f"{self.address}/v1/sixd6/roll?base=2", timeout=PATIENCE_S, trust_env=False)
        except httpx.HTTPError as error:
            return f"others get no answer: {type(error).__name__}"
        took_s = time.monotonic() - started_s
        return "" if answer.is_success else f"others get {answer.status_code} after {took_s:.1f} s"


def status_of(said: bytes) -> int:
    """Of the first answer in what came back; 0 where there is none."""
    words = said.split(b" ", 2)
    return int(words[1]) if said.startswith(b"HTTP/") and words[1].isdigit() else 0


def raise_own_file_limit() -> None:
    """The attacker has open files too."""
    import resource  # noqa: PLC0415  not on Windows

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 65_536 else 65_536, hard))


def operations(*, below: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation of the contract."""
    for path, methods in CONTRACT["paths"].items():
        if path.startswith(below):
            for method, operation in methods.items():
                if method in ("get", "post", "put", "patch", "delete"):
                    yield method.upper(), path, operation


def example_of(operation: dict[str, Any]) -> Any:
    """A body that the operation would take."""
    content = operation.get("requestBody", {}).get("content", {})
    told = content.get("application/json") or content.get("application/merge-patch+json") or {}
    return told.get("example", {}) if content else None
