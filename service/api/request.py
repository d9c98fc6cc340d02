"""The request that handlers get: Litestar's, with its headers as a plain dict."""

from typing import Any

from litestar import Request
from litestar.types import Receive, Scope, Send


class PlainRequest(Request[Any, Any, Any]):
    """Headers by their lower-case name; those that came more than once are joined, as HTTP allows. (A multi-dict for each
    request costs as much as throwing the dice.)"""

    __slots__ = ("_by_name",)

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        by_name: dict[str, str] = {}
        for name, value in scope["headers"]:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            by_name[key] = f"{by_name[key]}, {text}" if key in by_name else text
        self._by_name = by_name
        super().__init__(scope, receive, send)

    @property
    def headers(self) -> Any:
        return self._by_name
