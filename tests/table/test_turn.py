"""One step while it is played: what is read, what it would change, what it tells, and who may."""

import msgspec
import pytest

from service.dice import Tape
from service.errors import NotAllowed, NotThere, VersionMoved
from service.table.audience import Role
from service.table.records import Actor, Character, Clock, Event, Marks, Token
from service.table.turn import EVERYTHING, Records, Turn, Unread, is_record
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Unshuffled

RAW = {
    "clock": msgspec.json.encode(Clock(1_000, since_ms=500)),
    "c:zoe": msgspec.json.encode(Character(name="Zoé")),
    "c:max": None,
    "t:mine": None,
}


def turn(*, whole=False, by=GM, raw=RAW, expects=None, key=None):
    records = Records(dict(raw), whole=whole)
    return Turn(records, now_ms=2_000, version=7, token=by, dice=Tape(Unshuffled()), key=key, expects=expects)


READ = [
    # whole, field, value or what must be read first
    (False, "c:zoe", Character(name="Zoé")),
    (False, "c:max", None),  # read, and not there
    (False, "c:ana", "c:ana"),
    (False, "head", "head"),
    (True, "c:ana", None),
    (True, "head", None),
    (True, "t:mine", None),
    (True, "t:yours", "t:yours"),  # all fields are read but for texts
]


@pytest.mark.parametrize(("whole", "field", "value"), READ)
def test_what_was_not_read_is_asked_for_by_name(whole, field, value):
    if isinstance(value, str):
        with pytest.raises(Unread) as unread:
            turn(whole=whole).get(field)
        assert unread.value.field == value
    else:
        assert turn(whole=whole).get(field) == value


def test_a_list_of_fields_needs_all_of_them():
    with pytest.raises(Unread) as unread:
        turn().fields("c:")
    assert unread.value.field == EVERYTHING
    assert turn(whole=True).fields("c:") == ["c:zoe"]


def test_a_broken_record_is_no_value():
    with pytest.raises(msgspec.DecodeError):
        turn(raw={"c:zoe": b'{"name": 1}'}).get("c:zoe")


def test_what_a_play_has_put_is_what_it_reads():
    playing = turn(whole=True)
    playing.put("c:ana", Character(name="Ana"))
    playing.put("c:zoe", None)
    assert (playing.get("c:ana").name, playing.get("c:zoe")) == ("Ana", None)
    assert playing.fields("c:") == ["c:ana"]
    assert playing.characters() == {"ana": Character(name="Ana")}
    with pytest.raises(NotThere):
        playing.character("zoe")
    assert playing.changes == {"c:ana": Character(name="Ana"), "c:zoe": None}


def test_a_step_tells_who_did_it_and_when():
    playing = turn(by=Token(id="t1", role=Role.CHAT, label="bot", created_ms=0), key="k1")
    playing.tell("test", Marks(suspects=("zoe",)), character="zoe", visibility="self")
    assert playing.event == Event(
        type="test",
        at_ms=2_000,
        elapsed_ms=2_500,
        actor=Actor(role=Role.CHAT, token="t1", label="bot"),
        character="zoe",
        key="k1",
        visibility="self",
        data=Marks(suspects=("zoe",)),
    )
    assert (playing.next_event, playing.elapsed_ms) == ("7", 2_500)


@pytest.mark.parametrize(("expects", "version", "refused"), [(None, 3, False), (3, 3, False), (3, 4, True), (0, 4, True)])
def test_a_caller_may_expect_a_version(expects, version, refused):
    if refused:
        with pytest.raises(VersionMoved) as refusal:
            turn(expects=expects).expect(version)
        assert refusal.value.current == version
    else:
        turn(expects=expects).expect(version)


OF_NOBODY = Token(id="of-nobody", role=Role.CHAT, characters=(), created_ms=0)
# The gm may always.
MAY = [
    # token, the roles asked for, may; may for Zoé; may for Max
    (GM, (), True, True, True),
    (GM, (Role.PLAYER,), True, True, True),
    (PLAYER, (), False, True, True),
    (PLAYER, (Role.PLAYER,), True, True, True),
    (PLAYER, (Role.CHAT, Role.OBSERVER), False, True, True),
    (CHAT, (Role.PLAYER, Role.CHAT), True, True, True),
    (CHAT, (Role.PLAYER,), False, True, True),
    (OBSERVER, (Role.PLAYER, Role.CHAT), False, False, False),
    (OBSERVER, (Role.OBSERVER,), True, False, False),
    (OF_ZOE, (Role.PLAYER,), True, True, False),
    (OF_NOBODY, (Role.CHAT,), True, False, False),
]


def reason(check):
    try:
        check()
    except NotAllowed as refusal:
        return refusal.reason
    return None


@pytest.mark.parametrize(("token", "roles", "may", "for_zoe", "for_max"), MAY)
def test_who_may(token, roles, may, for_zoe, for_max):
    playing = turn(by=token)
    assert reason(lambda: playing.allow(*roles)) == (None if may else "role")
    for character, allowed in (("zoe", for_zoe), ("max", for_max)):
        why = "role" if token.role is Role.OBSERVER else "character"
        assert reason(lambda character=character: playing.allow_for(character)) == (None if allowed else why)


FIELDS = [("head", True), ("clock", True), ("k:x", True), ("c:", True), ("version", False), ("x:y", False), ("headx", False)]


@pytest.mark.parametrize(("field", "ours"), FIELDS)
def test_records_are_told_from_the_store_s_own_fields(field, ours):
    assert is_record(field) is ours
