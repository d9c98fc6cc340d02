"""Open event streams are bounded, so that they cannot take every connection of a worker."""

import pytest

from service.api.room import Room
from service.store.limits import TooManyRequests


def test_there_is_room_again_when_a_stream_ends():
    told = []
    room = Room(2, 0, told.append)
    with room.taken("203.0.113.1"):
        with room.taken("203.0.113.2"), pytest.raises(TooManyRequests), room.taken("203.0.113.3"):
            pass
        with room.taken("203.0.113.3"):
            pass
    assert told == [1, 2, 1, 2, 1, 0]


def test_no_address_takes_it_all_and_one_network_is_one_address():
    room = Room(0, 1)
    with room.taken("2001:db8::1"), room.taken("2001:db8:0:1::1"):
        with pytest.raises(TooManyRequests), room.taken("2001:db8::2"):
            pass
        with room.taken("127.0.0.1"), room.taken("127.0.0.1"):
            pass
    with room.taken("2001:db8::2"):
        pass


def test_zero_is_no_limit():
    room = Room(0, 0)
    with room.taken("203.0.113.1"), room.taken("203.0.113.1"):
        pass
