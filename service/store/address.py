"""REDIS_URL, taken apart: one server, a master that Sentinels know, or a Cluster."""

from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from redis.asyncio.connection import SSLConnection, parse_url

DEFAULT_PORTS = {"cluster": 6379, "sentinel": 26379}


class Kind(Enum):
    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


class Node(NamedTuple):
    host: str
    port: int


class Address(NamedTuple):
    kind: Kind
    options: dict[str, Any]
    """Of each connection to a Redis, as the client takes them."""
    nodes: tuple[Node, ...] = ()
    """Of the Cluster, or the Sentinels."""
    master: str = ""
    asking: dict[str, Any] | None = None
    """Options of each connection to a Sentinel."""

    @property
    def tls(self) -> bool:
        return self.options.get("connection_class") is SSLConnection


def read(url: str) -> Address:
    """Raises ValueError. Several hosts stand before the path, and what follows them is as in the address of one server."""
    parts = urlsplit(url)
    plain, _, kind = parts.scheme.partition("+")
    if not kind:
        return Address(Kind.SINGLE, dict(parse_url(url)))
    user, _, hosts = parts.netloc.rpartition("@")
    nodes = tuple(_node(each, DEFAULT_PORTS[kind]) for each in hosts.split(","))
    _, *path = parts.path.split("/")
    master, database = (unquote(path[0]), path[1:]) if kind == Kind.SENTINEL.value else ("", path)
    user = f"{user}@" if user else ""
    options = dict(parse_url(f"{plain}://{user}/{'/'.join(database)}?{parts.query}"))
    if kind == Kind.CLUSTER.value and options.pop("db", 0):
        raise ValueError("a Cluster has no other database than 0")
    login = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    tls = {name: value for name, value in options.items() if name.startswith("ssl_") or name == "connection_class"}
    return Address(Kind(kind), options, nodes, master, {**tls, **login})


def _node(text: str, default_port: int) -> Node:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if colon and not 0 < int(port) <= 65_535:
        raise ValueError(f"{port} is no port")
    return Node((host if colon else text).strip("[]"), int(port) if colon else default_port)
