"""How long a body is waited for: a slow sender would hold its connection for as long as it likes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from service.api.problems import Refusal

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

SWEEP_S = 1.0
UNWANTED_S = 1.0
MOST_UNWANTED_BYTES = 16 << 20
"""How long, and how much of, a body is taken in that nobody will read: a client that is still sending sees no answer."""


class Patience:
    """One timer for all bodies that are awaited: one for each would cost a tenth of a roll."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def timely(self, receive: Receive) -> Body:
        """`receive`, until the body is complete. Raises the refusal of one that takes too long, or ends too early."""
        return Body(receive, self)

    async def wait(self, receive: Receive, ends_s: float, loop: asyncio.AbstractEventLoop) -> Message:
        task = asyncio.current_task()
        assert task  # noqa: S101
        self._ends[task] = ends_s
        if self._sweeping is None:
            self._sweeping = loop.call_later(SWEEP_S, self._sweep, loop)
        try:
            return await receive()
        except asyncio.CancelledError:
            if task not in self._late or task.uncancel():
                raise
            raise Refusal("body-too-slow", seconds=self.seconds) from None
        finally:
            del self._ends[task]
            self._late.discard(task)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """A task stands in `_ends` only while it waits, so the cancellation reaches it there."""
        now_s = loop.time()
        for task, ends_s in self._ends.items():
            if ends_s <= now_s and task not in self._late:
                self._late.add(task)
                task.cancel()
        self._sweeping = loop.call_later(SWEEP_S, self._sweep, loop) if self._ends else None


class Body:
    """An ASGI `receive` that knows whether all of the body was here."""

    __slots__ = ("_came", "_ends_s", "_loop", "_patience", "_receive", "complete")

    def __init__(self, receive: Receive, patience: Patience) -> None:
        self._receive, self._patience, self._loop = receive, patience, asyncio.get_running_loop()
        self._ends_s, self._came, self.complete = self._loop.time() + patience.seconds, 0, False

    async def __call__(self) -> Message:
        if self.complete:
            return await self._receive()
        message = await self._patience.wait(self._receive, self._ends_s, self._loop)
        if message["type"] == "http.disconnect":
            raise Refusal("malformed-body", members={"position": self._came}, position=self._came)
        self._came += len(message.get("body", b""))
        self.complete = not message.get("more_body")
        return message

    async def is_taken_in(self) -> bool:
        """Whether the rest of it, which the answer does not need, is here too. If not, the connection can carry no other."""
        most = self._came + MOST_UNWANTED_BYTES
        try:
            async with asyncio.timeout_at(min(self._ends_s, self._loop.time() + UNWANTED_S)):
                while not self.complete and self._came < most:
                    await self()
        except (TimeoutError, Refusal):
            return False
        return self.complete
