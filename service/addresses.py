"""Where a request comes from: whom we believe about it, and what counts as one caller."""

import ipaddress
import re
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

WITH_PORT = re.compile(r"\[(?P<six>[^\]]*)\](?::[0-9]+)?|(?P<four>[0-9.]+):[0-9]+")
SIX_BITS = 64
"""An IPv6 caller is given a network of this prefix, and can use each of its addresses."""


class Proxies:
    """Addresses and networks whose X-Forwarded-For is believed. Raises ValueError for what is neither."""

    def __init__(self, told: str) -> None:
        given = [each.strip() for each in told.split(",") if each.strip()]
        self._networks = tuple(ipaddress.ip_network(each, strict=False) for each in given)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def _include(self, address: Address) -> bool:
        return any(address in network for network in self._networks)

    def client(self, nearest: str, forwarded: str) -> str:
        """The nearest address that is no proxy of ours. The header is read from our proxies only, the last first."""
        for told in (nearest, *reversed(forwarded.split(","))):
            address = parsed(told)
            if address is None:
                break
            nearest = str(address)
            if not self._include(address):
                break
        return nearest


@lru_cache(4_096)
def parsed(told: str) -> Address | None:
    """Also with a port, in brackets, or as IPv4 within IPv6."""
    text = told.strip()
    if found := WITH_PORT.fullmatch(text):
        text = found["six"] or found["four"] or ""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(4_096)
def caller(told: str) -> str:
    """What limits count: an IPv4 address, or the network that an IPv6 caller has to itself."""
    address = parsed(told)
    if address is None or address.version == 4:
        return str(address or "unknown")
    return str(ipaddress.ip_network((int(address), SIX_BITS), strict=False))


def is_loopback(told: str) -> bool:
    address = parsed(told)
    return address is not None and address.is_loopback
