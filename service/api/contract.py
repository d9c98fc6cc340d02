from typing import Any


def encoded(d: Any) -> bytes:
    return b"{}"


def document(o: Any, p: Any) -> Any:
    return {}
