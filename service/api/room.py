"""How many event streams a worker holds open: each keeps a connection, which others then cannot have."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.addresses import caller, is_loopback
from service.store.limits import TooManyRequests

TRY_AGAIN_S = 30


class Room:
    """A limit of 0 is none. This machine's own address is limited by `most` alone."""

    def __init__(self, most: int, most_each: int, tell: Callable[[int], None] = lambda open_now: None) -> None:
        self._most, self._most_each, self._tell = most, most_each, tell
        self._open: Counter[str] = Counter()

    @contextmanager
    def taken(self, address: str) -> Iterator[None]:
        """Raises TooManyRequests."""
        who = caller(address)
        full = self._most and self._open.total() >= self._most
        if full or (self._most_each and self._open[who] >= self._most_each and not is_loopback(address)):
            raise TooManyRequests(TRY_AGAIN_S)
        self._open[who] += 1
        self._tell(self._open.total())
        try:
            yield
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]
            self._tell(self._open.total())
