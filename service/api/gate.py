"""What is asked at the door of everything that no session's token opens: the operator's key, and not too much at once."""

import math
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping

from service.addresses import caller, is_loopback
from service.api.problems import Refusal

API_KEY = "X-Api-Key"
OWN_TOKENS = re.compile(r"/v1/(?:sessions|quick)/")
"""Paths below a session: its tokens are its key, and its steps are counted where they are made."""
MINUTE_S = 60
MOST_CALLERS = 10_000


class Gate:
    """Without a key it is open to all; a limit of 0 is none. Limits are this worker's share."""

    def __init__(
        self,
        api_key: str,
        per_second: float,
        wrong_keys_per_minute: float = 0,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._key, self._per_second, self._now_s = api_key.encode(), per_second, now_s
        self._most = max(per_second, 1.0)
        self._left, self._counted_s = self._most, now_s()
        self._wrong_keys = WrongKeys(wrong_keys_per_minute, now_s)

    def refusal(self, path: str, headers: Mapping[bytes, bytes], address: str) -> Refusal | None:
        path = path.rstrip("/")  # as the router reads it
        if not path.startswith("/v1/") or OWN_TOKENS.match(path):
            return None
        if self._key and not secrets.compare_digest(headers.get(API_KEY.lower().encode(), b""), self._key):
            if seconds := self._wrong_keys.wait_s(address):
                return too_many(seconds)
            return Refusal(
                "api-key-required", headers={"WWW-Authenticate": API_KEY}, faults=((f"header.{API_KEY}", "api_key", {}),)
            )
        if self._per_second and path != "/v1/sessions" and not self._has_room():  # sessions are counted by address
            return too_many(math.ceil((1 - self._left) / self._per_second))
        return None

    def _has_room(self) -> bool:
        now_s = self._now_s()
        self._left = min(self._most, self._left + (now_s - self._counted_s) * self._per_second)
        self._counted_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


class WrongKeys:
    """As with tokens: by caller and minute, loopback is exempt, and who has the right one is never refused."""

    def __init__(self, most: float, now_s: Callable[[], float]) -> None:
        self._most, self._now_s = max(most, 1.0) if most else 0, now_s
        self._minute, self._shown = 0, Counter[str]()

    def wait_s(self, address: str) -> int:
        """Counts one. Seconds until it is worth trying again, or 0."""
        if not self._most or is_loopback(address):
            return 0
        minute, second = divmod(int(self._now_s()), MINUTE_S)
        if minute != self._minute or len(self._shown) >= MOST_CALLERS:
            self._minute, self._shown = minute, Counter()
        who = caller(address)
        self._shown[who] += 1
        return MINUTE_S - second if self._shown[who] > self._most else 0


def too_many(seconds: int) -> Refusal:
    return Refusal("too-many-requests", headers={"Retry-After": str(seconds)}, seconds=seconds)
