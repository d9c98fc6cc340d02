"""REDIS_URL, taken apart: one server, a master that Sentinels know, or a Cluster."""

import re
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from redis.asyncio.connection import SSLConnection, parse_url

DEFAULT_PORTS = {"cluster": 6379, "sentinel": 26379}
TIMEOUTS = ("socket_timeout", "socket_connect_timeout")
MOST_TIMEOUT_S = 60
PLAIN_OPTIONS = ("db", "username", "password", "client_name", *TIMEOUTS)
TLS_OPTIONS = (
    *("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password"),
    *("ssl_cert_reqs", "ssl_check_hostname"),
)
SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")


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
    if kind not in ("", *DEFAULT_PORTS):
        raise ValueError(f"there is no {parts.scheme}://")
    if not kind:
        return Address(Kind.SINGLE, _options(url))
    user, _, hosts = parts.netloc.rpartition("@")
    nodes = tuple(_node(each, DEFAULT_PORTS[kind]) for each in hosts.split(","))
    _, *path = parts.path.split("/")
    master, database = (unquote(path[0]), path[1:]) if kind == Kind.SENTINEL.value else ("", path)
    user = f"{user}@" if user else ""
    options = _options(f"{plain}://{user}/{'/'.join(database)}?{parts.query}", kind)
    if kind == Kind.CLUSTER.value and options.pop("db", 0):
        raise ValueError("a Cluster has no other database than 0")
    login = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    tls = {name: value for name, value in options.items() if name.startswith("ssl_") or name == "connection_class"}
    return Address(Kind(kind), options, nodes, master, {**tls, **login})


def _options(url: str, kind: str = "") -> dict[str, Any]:
    """The client would take any other too, and fail with it later, or ignore a path that is no number."""
    parts = urlsplit(url)
    known = (
        *PLAIN_OPTIONS,
        *(TLS_OPTIONS if parts.scheme == "rediss" else ()),
        *(SENTINEL_OPTIONS if kind == Kind.SENTINEL.value else ()),
    )
    unknown = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if name not in known]
    if unknown:
        raise ValueError(f"{unknown[0]} is not an option here; these are: {', '.join(known)}")
    if parts.scheme != "unix" and not re.fullmatch("(/[0-9]*)?", parts.path):
        raise ValueError(f"{parts.path[1:]} is no database: they have numbers")
    options: dict[str, Any] = dict(parse_url(url))
    for name in TIMEOUTS:
        if name in options and not 0 < options[name] <= MOST_TIMEOUT_S:
            raise ValueError(f"{name} must be seconds, more than 0 and at most {MOST_TIMEOUT_S}")
    return options


def _node(text: str, default_port: int) -> Node:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if colon and not 0 < int(port) <= 65_535:
        raise ValueError(f"{port} is no port")
    return Node((host if colon else text).strip("[]"), int(port) if colon else default_port)
