"""One caller's line to the service: its token, and what is repeated when an answer is lost.

What may be raised:

    Refused        the service said no, in its own words
    Unreachable    no answer came, however often it was asked
    Unexpected     what answered was not the service
    LogExpired     of `Table.events` alone
"""

import asyncio
import math
import random
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from .client import AuthenticatedClient
from .contract import PROBLEMS, Problem
from .types import UNSET, Response

PASSING = frozenset({429, 502, 503, 504})
STEPS = "/v1/sessions"
"""Wherever the service is: it may stand below a path of its host."""
STREAM = "text/event-stream"
SILENCE_S = 45.0
"""A stream that says nothing for so long is dead: the service gives a sign of life every 15 s."""


class Refused(Exception):
    """The service refused; nothing was rolled and nothing changed.

    `problem` is typed, told apart by its class or its `code`; None where the service is newer than this client.
    """

    def __init__(self, said: Mapping[str, Any], retry_after_s: float | None) -> None:
        known = PROBLEMS.get(said["code"])
        self.code: str = said["code"]
        self.text: str = said["text"]
        self.status: int = said["status"]
        self.problem: Problem | None = known.from_dict(said) if known else None
        self.retry_after_s = retry_after_s
        super().__init__(f"{self.code}: {self.text}")


class Unreachable(Exception):
    """No answer came, however often it was asked; what was lost last is its cause. The last step may have been heard."""


class Unexpected(Exception):
    """What answered was not the service, for example a proxy in front of it."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body
        super().__init__(f"Unexpected status {status}")


@dataclass(frozen=True)
class Patience:
    """How often one request is repeated, and how long a wait may be that the service asks for.

    `away_s` is how long `events` waits for a service that has gone, None: for ever. It asks every `longest_wait_s` at least.
    `answer_s` is how long the service may be silent before an answer counts as lost.
    """

    repeats: int = 4
    first_wait_s: float = 0.25
    longest_wait_s: float = 30.0
    away_s: float | None = None
    answer_s: float = 10.0

    def wait_s(self, repeats: int, asked_s: float | None) -> float | None:
        """None: it is time to give up."""
        wait_s = self.first_wait_s * 2**repeats if asked_s is None else asked_s
        return None if repeats >= self.repeats or wait_s > self.longest_wait_s else wait_s


def retry_after_s(response: httpx.Response) -> float | None:
    said = response.headers.get("Retry-After", "")
    return float(said) if said.isdecimal() else None


def repeatable(request: httpx.Request) -> bool:
    """Whether it may have been heard already without harm: it reads, has a key, or rolls for no table."""
    return request.method == "GET" or "Idempotency-Key" in request.headers or STEPS not in request.url.path


def checked(response: httpx.Response) -> httpx.Response:
    """The response, if it is a success."""
    if response.is_success:
        return response
    if response.headers.get("Content-Type", "").startswith("application/problem+json"):
        raise Refused(response.json(), retry_after_s(response))
    raise Unexpected(response.status_code, response.content)


def joined(params: Any) -> Any:
    """Lists have commas in this contract; httpx would repeat their name."""
    return {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in params.items()} if params else params


class Attempts:
    """What has become of one request so far."""

    def __init__(self, patience: Patience, request: httpx.Request) -> None:
        self._patience, self._request, self._repeats = patience, request, 0
        self._is_patient = request.headers.get("Accept") != STREAM  # whoever listens waits on their own

    def wait_s(self, outcome: httpx.Response | httpx.TransportError) -> float | None:
        """How long to wait before the request is sent again; None: this outcome stands."""
        if isinstance(outcome, httpx.Response):
            asked_s = retry_after_s(outcome)
            again = outcome.status_code in PASSING and (outcome.status_code == 429 or repeatable(self._request))
        else:
            asked_s = None
            again = repeatable(self._request) or isinstance(outcome, httpx.ConnectError)
        wait_s = self._patience.wait_s(self._repeats, asked_s) if again and self._is_patient else None
        self._repeats += 1
        return wait_s


class Absence:
    """How long nothing was heard from the service, and when to ask again. Listeners do not all come back at once."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self.end()

    def end(self) -> None:
        self._since_s: float | None = None
        self._pause_s = self._patience.first_wait_s

    def pause_s(self, lost: Exception | None) -> float:
        """Raises what was lost where it does not pass, Unreachable where it was waited for long enough."""
        if isinstance(lost, Refused | Unexpected) and lost.status not in PASSING:
            raise lost
        left_s = self._left_s()
        if left_s <= 0:
            raise Unreachable("The service stays away.") from lost
        asked_s = lost.retry_after_s or 0.0 if isinstance(lost, Refused) else 0.0
        pause_s = max(self._pause_s * random.uniform(0.5, 1.0), asked_s)  # noqa: S311 (no secret)
        self._pause_s = min(self._pause_s * 2, self._patience.longest_wait_s)
        return min(pause_s, self._patience.longest_wait_s, left_s)

    def _left_s(self) -> float:
        now_s = time.monotonic()
        self._since_s = now_s if self._since_s is None else self._since_s
        return math.inf if self._patience.away_s is None else self._patience.away_s - (now_s - self._since_s)


LOST = (httpx.TransportError, Unreachable, Refused, Unexpected)


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
                    raise Unreachable(f"The service does not answer: {str(lost) or type(lost).__name__}") from lost
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
                    raise Unreachable(f"The service does not answer: {str(lost) or type(lost).__name__}") from lost
            else:
                if not response.is_success:
                    await response.aread()
                if (wait_s := attempts.wait_s(response)) is None:
                    return checked(response)
            await asyncio.sleep(wait_s)


class Line:
    """What a connection of either kind is made of. What it shows of its caller is in no `repr`."""

    def __init__(self, address: str, patience: Patience | None, headers: dict[str, str]) -> None:
        self.address, self.patience, self._headers = address, patience or Patience(), headers
        self._client = AuthenticatedClient(base_url=address, token="")

    def _told(self) -> dict[str, Any]:
        return {"base_url": self.address, "headers": self._headers, "timeout": self.patience.answer_s}

    def _listening(self) -> httpx.Timeout:
        return httpx.Timeout(self.patience.answer_s, read=SILENCE_S)


def keyed(told: dict[str, Any]) -> dict[str, Any]:
    """A step gets a key of its own, so that a repetition of it changes nothing again."""
    return {**told, "idempotency_key": str(uuid.uuid4())} if told.get("idempotency_key") is UNSET else told


def quoted(told: dict[str, Any]) -> dict[str, Any]:
    """A version is a number in answers, and stands in quotes in If-Match."""
    version = told.get("if_match")
    return {**told, "if_match": f'"{version}"'} if isinstance(version, int) else told


class Connection(Line):
    def __init__(self, address: str, patience: Patience | None, headers: dict[str, str]) -> None:
        super().__init__(address, patience, headers)
        self.http = PatientClient(self.patience, **self._told())
        self._client.set_httpx_client(self.http)

    def _ask(self, operation: Callable[..., Response[Any]], **told: Any) -> Any:
        return operation(client=self._client, **quoted(keyed(told))).parsed

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncConnection(Line):
    def __init__(self, address: str, patience: Patience | None, headers: dict[str, str]) -> None:
        super().__init__(address, patience, headers)
        self.http = AsyncPatientClient(self.patience, **self._told())
        self._client.set_async_httpx_client(self.http)

    async def _ask(self, operation: Callable[..., Coroutine[Any, Any, Response[Any]]], **told: Any) -> Any:
        return (await operation(client=self._client, **quoted(keyed(told)))).parsed

    async def close(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
