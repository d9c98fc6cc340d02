"""The log as text/event-stream: what happened after a cursor, then what happens."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from service.api.room import Room
from service.errors import Unauthorized
from service.store.connection import StoreUnavailable
from service.store.live import Gone
from service.store.log import Entry, Expired

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"vary", b"Accept, Accept-Language"),
]
SIGN_OF_LIFE = b": \n\n"
# Comments, the last thing that is sent: afterwards both are answered 401, which does not tell them apart.
REVOKED, CLOSED = b": revoked\n\n", b": gone\n\n"
CANCEL_AGAIN_S = 0.05

# Events after which the follower's own token may be gone.
ABOUT_TOKENS = frozenset({"token.deleted", "undo"})


class Reset(Struct, frozen=True, tag_field="type", tag="reset"):
    """The log no longer reaches back to the cursor: read the state of the table, and go on from here."""

    last_event: Annotated[str, Meta(max_length=20, description="Cursor to go on from.")]


Worded = Callable[[Entry], bytes | None]


def framed(identifier: str, data: bytes) -> bytes:
    """One event; no `event:` line, so that every EventSource hears all of them as messages."""
    return b"id: %s\ndata: %s\n\n" % (identifier.encode(), data)


class EventStream:
    """An ASGI application that sends what `follow` yields until the reader goes, the session ends or its token does."""

    def __init__(
        self,
        follow: AsyncIterator[list[Entry]],
        worded: Worded,
        still_allowed: Callable[[], Any],
        last_event: Callable[[], Any],
        room: Room,
    ) -> None:
        self._follow, self._worded, self._still_allowed, self._last_event = follow, worded, still_allowed, last_event
        self._room = room

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Raises TooManyRequests."""
        with self._room.taken((scope.get("client") or ("",))[0]):
            await self._run(receive, send)

    async def _run(self, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": SIGN_OF_LIFE, "more_body": True})
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await asyncio.gather(_ended(sending), _ended(leaving))
        with contextlib.suppress(Exception):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Any) -> None:
        try:
            async for entries in self._follow:
                if any(each.event.type in ABOUT_TOKENS for each in entries):
                    await self._still_allowed()
                body = b"".join(framed(each.id, data) for each in entries if (data := self._worded(each)) is not None)
                await send({"type": "http.response.body", "body": body or SIGN_OF_LIFE, "more_body": True})
        except Expired:
            last = await self._last_event()
            body = framed(last, msgspec.json.encode(Reset(last_event=last)))
            await send({"type": "http.response.body", "body": body, "more_body": True})
        except Unauthorized:
            await send({"type": "http.response.body", "body": REVOKED, "more_body": True})
        except Gone:
            await send({"type": "http.response.body", "body": CLOSED, "more_body": True})
        except StoreUnavailable:
            return
        finally:
            await self._follow.aclose()  # type: ignore[attr-defined]


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancelled until it ends: before Python 3.12, asyncio.wait_for in the client of Redis can lose a cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_AGAIN_S)


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
