"""Who asks: what a proxy of ours says is believed, what a caller says is not, and an IPv6 caller is one."""

import pytest

from service.addresses import Proxies, caller, is_loopback

FORWARDED = [
    # proxies, nearest, X-Forwarded-For, client
    ("", "203.0.113.9", "198.51.100.1", "203.0.113.9"),
    ("10.0.0.1", "203.0.113.9", "198.51.100.1", "203.0.113.9"),
    ("10.0.0.1", "10.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.1", "10.0.0.1", "127.0.0.1, 198.51.100.1", "198.51.100.1"),  # the first was forged
    ("10.0.0.1, 10.0.0.2", "10.0.0.1", "127.0.0.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
    ("10.0.0.0/8", "10.9.8.7", "198.51.100.1,10.1.2.3", "198.51.100.1"),
    ("10.0.0.0/8", "::ffff:10.9.8.7", "198.51.100.1", "198.51.100.1"),
    ("10.0.0.1", "10.0.0.1", "", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1", "unknown", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1", "198.51.100.1, <script>", "10.0.0.1"),
    ("10.0.0.1", "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
    ("fd00::/8", "fd00::1", "[2001:db8::1]:443", "2001:db8::1"),
    ("10.0.0.1", "10.0.0.1", "," * 5_000, "10.0.0.1"),
]  # fmt: skip


@pytest.mark.parametrize(("proxies", "nearest", "forwarded", "client"), FORWARDED)
def test_the_nearest_address_that_is_no_proxy_of_ours_asks(proxies, nearest, forwarded, client):
    assert Proxies(proxies).client(nearest, forwarded) == client


@pytest.mark.parametrize("told", ["10.0.0.1/33", "proxy.example", "10.0.0.1 10.0.0.2", "*"])
def test_a_proxy_is_an_address_or_a_network(told):
    with pytest.raises(ValueError, match="does not appear to be"):
        Proxies(told)


CALLERS = [
    # address, what is counted
    ("203.0.113.9", "203.0.113.9"),
    ("::ffff:203.0.113.9", "203.0.113.9"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
    ("", "unknown"),
    ("nonsense", "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("address", "counted"), CALLERS)
def test_one_network_of_ipv6_is_one_caller(address, counted):
    assert caller(address) == counted


def test_loopback_has_several_shapes():
    assert [is_loopback(each) for each in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1")] == [True] * 4
    assert not any(is_loopback(each) for each in ("", "localhost", "203.0.113.9", "::ffff:203.0.113.9"))
