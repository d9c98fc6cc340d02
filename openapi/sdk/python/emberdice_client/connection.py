"""One caller's line to the service: its token, and what is repeated when an answer is lost."""

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from .client import AuthenticatedClient
from .contract import PROBLEMS, Problem
from .errors import UnexpectedStatus
from .types import UNSET, Response

PASSING = frozenset({429, 502, 503, 504})
STEPS = "/v1/sessions"
STREAM = "text/event-stream"
TIMEOUT = httpx.Timeout(10.0, read=45.0)


class Refused(Exception):
    """The service refused; nothing was rolled and nothing changed.

    `problem` is typed, told apart by its class or its `code`; None where the service is newer than this client.
    """

    def __init__(self, said: Mapping[str, Any], retry_after_s: float | None) -> None:
        known = PROBLEMS.get(said["code"])
        self.code: str = said["code"]
        self.text: str = said["text"]
        self.problem: Problem | None = known.from_dict(said) if known else None
        self.retry_after_s = retry_after_s
        super().__init__(f"{self.code}: {self.text}")


@dataclass(frozen=True)
class Patience:
    """How often one request is repeated, and how long a wait may be that the service asks for."""

    repeats: int = 4
    first_wait_s: float = 0.25
    longest_wait_s: float = 30.0

    def wait_s(self, repeats: int, asked_s: float | None) -> float | None:
        """None: it is time to give up."""
        wait_s = self.first_wait_s * 2**repeats if asked_s is None else asked_s
        return None if repeats >= self.repeats or wait_s > self.longest_wait_s else wait_s


def retry_after_s(response: httpx.Response) -> float | None:
    said = response.headers.get("Retry-After", "")
    return float(said) if said.isdecimal() else None


def repeatable(request: httpx.Request) -> bool:
    """Whether it may have been heard already without harm: it reads, has a key, or rolls for no table."""
    return request.method == "GET" or "Idempotency-Key" in request.headers or not request.url.path.startswith(STEPS)


def checked(response: httpx.Response) -> httpx.Response:
    """The response, if it is a success."""
    if response.is_success:
        return response
    if response.headers.get("Content-Type", "").startswith("application/problem+json"):
        raise Refused(response.json(), retry_after_s(response))
    raise UnexpectedStatus(response.status_code, response.content)


def joined(params: Any) -> Any:
    """Lists have commas in this contract; httpx would repeat their name."""
    return {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in params.items()} if params else params


class Attempts:
    """What has become of one request so far."""

    def __init__(self, patience: Patience, request: httpx.Request) -> None:
        self._patience, self._request, self._repeats = patience, request, 0

    def wait_s(self, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """How long to wait before the request is sent again; None: this outcome stands."""
        if isinstance(outcome, httpx.Response):
            asked_s = retry_after_s(outcome)
            again = outcome.status_code in PASSING and (outcome.status_code == 429 or repeatable(self._request))
        else:
            asked_s = None
            again = repeatable(self._request) or isinstance(outcome, httpx.ConnectError)
        wait_s = self._patience.wait_s(self._repeats, asked_s) if again else None
        self._repeats += 1
        return wait_s


class PatientClient(httpx.Client):
    def __init__(self, patience: Patience, **told: Any) -> None:
        super().__init__(**told)
        self.patience = patience

    def build_request(self, *args: Any, params: Any = None, **told: Any) -> httpx.Request:
        return super().build_request(*args, params=joined(params), **told)

    def send(self, request: httpx.Request, *, stream: bool = False, **told: Any) -> httpx.Response:
        attempts = Attempts(self.patience, request)
        while True:
            try:
                response = super().send(request, stream=stream, **told)
            except httpx.TransportError as lost:
                if (wait_s := attempts.wait_s(lost)) is None:
                    raise
            else:
                if not response.is_success:
                    response.read()
                if (wait_s := attempts.wait_s(response)) is None:
                    return checked(response)
            time.sleep(wait_s)


class AsyncPatientClient(httpx.AsyncClient):
    def __init__(self, patience: Patience, **told: Any) -> None:
        super().__init__(**told)
        self.patience = patience

    def build_request(self, *args: Any, params: Any = None, **told: Any) -> httpx.Request:
        return super().build_request(*args, params=joined(params), **told)

    async def send(self, request: httpx.Request, *, stream: bool = False, **told: Any) -> httpx.Response:
        attempts = Attempts(self.patience, request)
        while True:
            try:
                response = await super().send(request, stream=stream, **told)
            except httpx.TransportError as lost:
                if (wait_s := attempts.wait_s(lost)) is None:
                    raise
            else:
                if not response.is_success:
                    await response.aread()
                if (wait_s := attempts.wait_s(response)) is None:
                    return checked(response)
            await asyncio.sleep(wait_s)


class Line:
    """What a connection of either kind is made of. Its token is in no `repr`."""

    def __init__(self, address: str, token: str | None, patience: Patience) -> None:
        self.address, self.patience = address, patience
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = AuthenticatedClient(base_url=address, token="")

    def _told(self) -> dict[str, Any]:
        return {"base_url": self.address, "headers": self._headers, "timeout": TIMEOUT}


def keyed(told: dict[str, Any]) -> dict[str, Any]:
    """A step gets a key of its own, so that a repetition of it changes nothing again."""
    return {**told, "idempotency_key": str(uuid.uuid4())} if told.get("idempotency_key") is UNSET else told


class Connection(Line):
    def __init__(self, address: str, token: str | None = None, patience: Patience | None = None) -> None:
        super().__init__(address, token, patience or Patience())
        self.http = PatientClient(self.patience, **self._told())
        self._client.set_httpx_client(self.http)

    def _ask(self, operation: Callable[..., Response[Any]], **told: Any) -> Any:
        return operation(client=self._client, **keyed(told)).parsed

    def close(self) -> None:
        self.http.close()


class AsyncConnection(Line):
    def __init__(self, address: str, token: str | None = None, patience: Patience | None = None) -> None:
        super().__init__(address, token, patience or Patience())
        self.http = AsyncPatientClient(self.patience, **self._told())
        self._client.set_async_httpx_client(self.http)

    async def _ask(self, operation: Callable[..., Coroutine[Any, Any, Response[Any]]], **told: Any) -> Any:
        return (await operation(client=self._client, **keyed(told))).parsed

    async def close(self) -> None:
        await self.http.aclose()
