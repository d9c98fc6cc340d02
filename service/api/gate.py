"""What is asked at the door of everything that no session's token opens: the operator's key, and not too much at once."""

import re
import secrets
import time
from collections.abc import Callable, Mapping

from service.api.problems import Refusal

API_KEY = "X-Api-Key"
OWN_TOKENS = re.compile(r"/v1/(?:sessions|quick)/")
"""Paths below a session: its tokens are its key, and its steps are counted where they are made."""


class Gate:
    """Without a key it is open to all; a limit of 0 is none. The limit is this worker's share."""

    def __init__(self, api_key: str, per_second: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self._key, self._per_second, self._now_s = api_key.encode(), per_second, now_s
        self._most = max(per_second, 1.0)
        self._left, self._counted_s = self._most, now_s()

    def refusal(self, path: str, headers: Mapping[bytes, bytes]) -> Refusal | None:
        path = "/" + "/".join(filter(None, path.split("/")))  # as the router reads it
        if not path.startswith("/v1/") or OWN_TOKENS.match(path):
            return None
        if self._key and not secrets.compare_digest(headers.get(API_KEY.lower().encode(), b""), self._key):
            return Refusal(
                "api-key-required", headers={"WWW-Authenticate": API_KEY}, faults=((f"header.{API_KEY}", "api_key", {}),)
            )
        if self._per_second and path != "/v1/sessions" and not self._has_room():  # sessions are counted by address
            return Refusal("too-many-requests", headers={"Retry-After": "1"}, seconds=1)
        return None

    def _has_room(self) -> bool:
        now_s = self._now_s()
        self._left = min(self._most, self._left + (now_s - self._counted_s) * self._per_second)
        self._counted_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True
