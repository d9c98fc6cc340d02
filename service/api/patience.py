"""How long a body is waited for: a slow sender would hold its connection for as long as it likes."""

import asyncio
from typing import Any

from service.api.problems import Refusal

SWEEP_S = 1.0


class Patience:
    """One timer for all bodies that are awaited: one for each would cost a tenth of a roll."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def timely(self, receive: Any) -> Any:
        """`receive`, until the body is complete. Raises the refusal of one that takes too long, or ends too early."""
        loop = asyncio.get_running_loop()
        ends_s, complete, came = loop.time() + self._seconds, False, 0

        async def receiving() -> Any:
            nonlocal complete, came
            if complete:
                return await receive()
            message = await self._wait(receive, ends_s, loop)
            if message["type"] == "http.disconnect":
                raise Refusal("malformed-body", members={"position": came}, position=came)
            came += len(message.get("body", b""))
            complete = not message.get("more_body")
            return message

        return receiving

    async def _wait(self, receive: Any, ends_s: float, loop: asyncio.AbstractEventLoop) -> Any:
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
            raise Refusal("body-too-slow", headers={"Connection": "close"}, seconds=self._seconds) from None
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
