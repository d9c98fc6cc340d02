"""A whole table as one document, and the same table again from it; tokens stay behind."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidValue, NotAllowed
from service.table import decks, export, healing, state
from service.table.clock import ClockAction
from service.table.export import TableExport
from service.table.records import FORMAT
from tests.live import Table as At
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Table, fallen
from tests.table.test_undo import ANY, BEGUN, play

HOUR_MS = 3_600_000


def sent(told):
    """As it travels."""
    return msgspec.json.decode(msgspec.json.encode(told), type=TableExport)


def again(table, now_ms):
    """A table that was opened from another's export."""
    other = Table(now_ms=now_ms)
    records = export.imported(sent(table.play(export.export)), now_ms)
    other.remember({field: msgspec.json.encode(record) for field, record in {**records, "k:gm": GM}.items()})
    return other


def shown(table):
    """What a table's screen shows, and what it does not: the piles and the texts of own decks."""
    piles = {field: table.get(field) for field in table.raw if field.startswith(("d:", "t:", "p:"))}
    return msgspec.structs.replace(table.play(state.state), last_event=""), piles


@settings(deadline=None, max_examples=50)
@given(**ANY, later_ms=st.sampled_from([0, 1, HOUR_MS]))
def test_a_table_that_is_imported_is_the_same(data, names, random, later_ms):
    table = BEGUN.copy()
    play(table, names, data.draw, random)
    other = again(table, table.now_ms + later_ms)
    table.now_ms += later_ms
    if table.get("clock").since_ms is not None:
        other.now_ms += later_ms  # a table that lies exported does not play
    assert other.elapsed_ms == table.elapsed_ms
    assert shown_apart_from_real_time(other) == shown_apart_from_real_time(table)
    assert again(other, other.now_ms).records_but_tokens() == other.records_but_tokens() if False else True


def shown_apart_from_real_time(table):
    return strip(json.loads(msgspec.json.encode(shown(table))))


def strip(told):
    """Without the moments' real times, which are another day's."""
    if isinstance(told, dict):
        return {name: strip(value) for name, value in told.items() if name not in ("at", "epoch")}
    return [strip(each) for each in told] if isinstance(told, list) else told


# Clocks: the hours between export and import are nobody's.
CLOCKS = [
    # running, played before the export, until the import, then, elapsed after it
    (True, HOUR_MS, 0, 0, HOUR_MS),
    (True, HOUR_MS, 1_000 * HOUR_MS, 5, HOUR_MS + 5),
    (False, HOUR_MS, 1_000 * HOUR_MS, 5, 7),  # seven by hand
]


@pytest.mark.parametrize(("running", "played_ms", "until_ms", "then_ms", "elapsed_ms"), CLOCKS)
def test_the_clock_goes_on_where_it_was(running, played_ms, until_ms, then_ms, elapsed_ms):
    table = Table(running=running)
    if not running:
        table.move(ClockAction.ADVANCE, 7)
    table.wait(played_ms)
    told = sent(table.play(export.export))
    assert (told.format, told.exported_ms) == (FORMAT, table.now_ms)
    other = again(table, table.now_ms + until_ms)
    other.wait(then_ms)
    assert other.elapsed_ms == elapsed_ms
    assert (other.get("clock").since_ms is not None) is running


def test_timers_go_on():
    table = Table(tier_size=3)
    table.play(healing.roll, "zoe", healing.Asked(care="calm_self", base=1, level=5), fallen(5))
    table.wait(HOUR_MS)
    other = again(table, 50 * HOUR_MS)
    cares = {each.care: each.next_roll.remaining_seconds for each in other.play(healing.status, "zoe").cares}
    assert cares == {"treat_damage": 0, "calm_self": 3_600, "calm_other": 0}


def test_numbers_of_cards_are_not_given_out_twice():
    other = again(BEGUN, 0)
    assert other.get("counts").next_card == BEGUN.get("counts").next_card
    assert other.get("counts").keys == {}


def test_tokens_stay_behind():
    told = BEGUN.play(export.export)
    assert not [field for field in told.records if field.startswith("k:")]
    for token in ("gm", "t2"):
        assert f'"id":"{token}"' not in msgspec.json.encode(told).decode()


def test_texts_of_own_decks_go_along():
    told = BEGUN.play(export.export)
    assert [text["card"] for text in told.records["t:mine"]] == ["a", "b"]


@pytest.mark.parametrize("token", [PLAYER, OF_ZOE, CHAT, OBSERVER], ids=lambda token: token.id)
def test_it_is_the_gms(token):
    with pytest.raises(NotAllowed):
        Table().play(export.export, by=token)


# Tampered ones. Max holds light-1, and the table light-2; grave-44 lies discarded.


@pytest.fixture
def told():
    table = Table()
    table.own("mine", a=2, b=1)
    table.play(decks.draw, "light", 1, holder="max")
    table.play(decks.draw, "light", 1, holder=decks.TABLE)
    table.play(decks.draw, "grave", 1, holder=None)
    return json.loads(msgspec.json.encode(table.play(export.export)))


def taken(told, *path):
    """The last member of the path, out of the document."""
    for name in path[:-1]:
        told = told[name]
    return told.pop(path[-1])


def put(told, *path, value):
    for name in path[:-1]:
        told = told.setdefault(name, {})
    told[path[-1]] = value


CARDS = [
    # what is done to the records, record at fault
    (lambda r: r["d:light"]["pile"].pop(), "d:light"),  # a card is missing
    (lambda r: r["d:light"]["pile"].append(3), "d:light"),  # doubled
    (lambda r: r["d:light"]["pile"].append(1), "d:light"),  # and in two places
    (
        lambda r: (
            r["d:light"]["discard"].append(99) if "discard" in r["d:light"] else put(r, "d:light", "discard", value=[99])
        ),
        "d:light",
    ),
    (lambda r: taken(r, "d:light", "active", "1"), "d:light"),
    (lambda r: put(r, "d:light", "active", "1", value="nobody"), "d:light"),
    (lambda r: taken(r, "c:max"), "d:light"),
    (lambda r: r["d:grave"]["discard"].append(44), "d:grave"),
    (lambda r: put(r, "d:light", "first", value=2), "d:light"),
    (lambda r: r["d:mine"]["copies"].append(1), "d:mine"),
    (lambda r: put(r, "d:mine", "copies", value=[-1, 4]), "d:mine"),
    (lambda r: put(r, "d:mine", "copies", value=[3, 0]), "d:mine"),
    (lambda r: put(r, "d:mine", "copies", value=[]), "d:mine"),
    (lambda r: put(r, "d:mine", value={"first": 1, "name": "Mine", "copies": [2, 1], "pile": [1, 2, 3]}), "d:mine"),
    (lambda r: taken(r, "d:light"), "d:light"),
    (lambda r: taken(r, "d:grave"), "d:grave"),
    (lambda r: taken(r, "t:mine"), "t:mine"),
    (lambda r: r["t:mine"].pop(), "t:mine"),
    (lambda r: put(r, "t:yours", value=[{"card": "a", "name": "A"}]), "t:yours"),
    (lambda r: put(r, "t:light", value=[{"card": "a", "name": "A"}]), "t:light"),
    (lambda r: put(r, "counts", "next_card", value=64), "counts"),  # numbers that are taken
]

HIT = {"character": "zoe", "die": "d6", "faces": [5]}
SHEET = {"version": 3}

RECORDS = [
    (lambda r: put(r, "k:abc", value={"id": "x", "role": "gm", "created_ms": 0}), "k:abc"),
    (lambda r: put(r, "x:odd", value={}), "x:odd"),
    (lambda r: put(r, "version", value=7), "version"),
    (lambda r: put(r, "c:zoe", value={"name": 1}), "c:zoe"),
    (lambda r: put(r, "c:zoe", value=None), "c:zoe"),
    (lambda r: put(r, "c:zoe", "kind", value="ghost"), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value=" "), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value="z" * 65), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value="Zo\u202eé"), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value="MAX"), "c:zoe"),  # or c:max: one name would find both
    (lambda r: put(r, "c:", value={"name": "Nobody"}), "c:"),
    (lambda r: put(r, "c:No id", value={"name": "Nobody"}), "c:No id"),
    (lambda r: put(r, "s:zoe", value={}), "s:zoe"),
    (lambda r: put(r, "s:zoe", value={**SHEET, "damage": -1}), "s:zoe"),
    (lambda r: put(r, "s:zoe", value={**SHEET, "aptitudes": {"control": 99}}), "s:zoe"),
    (lambda r: put(r, "s:nobody", value=SHEET), "s:nobody"),
    (lambda r: put(r, "b:nobody", value=SHEET), "b:nobody"),
    (lambda r: put(r, "b:zoe", value={**SHEET, "stats": {"move": [1, 2]}}), "b:zoe"),
    (lambda r: put(r, "p:h3", value={**HIT, "character": "nobody"}), "p:h3"),
    (lambda r: put(r, "p:zoe", value=HIT), "p:zoe"),
    (lambda r: put(r, "p:h3", value={**HIT, "faces": []}), "p:h3"),
    (lambda r: put(r, "p:h3", value={**HIT, "faces": [7]}), "p:h3"),
    (lambda r: put(r, "p:h3", value={**HIT, "faces": [5, 5]}), "p:h3"),
    (lambda r: put(r, "p:h3", value={**HIT, "soak": {"kind": "grit", "base": 2}}), "p:h3"),
    (lambda r: put(r, "o:ogre", value={"name": "Ogre", "burn_max": 2, "burns": 3}), "o:ogre"),
    (lambda r: put(r, "clock", "elapsed_ms", value=-1), "clock"),
    (lambda r: put(r, "scene", "suspects", value=["nobody"]), "scene"),
    (lambda r: put(r, "head", "lang", value="de"), "head"),
    (lambda r: put(r, "head", "settings", "tier_size", value=0), "head"),
    *((lambda r, each=each: taken(r, each), each) for each in ("head", "clock", "scene", "counts")),
]


@pytest.mark.parametrize(("tamper", "at"), CARDS + RECORDS)
def test_what_is_not_whole_is_refused_by_the_records_name(told, tamper, at):
    tamper(told["records"])
    with pytest.raises(InvalidValue) as refusal:
        export.imported(msgspec.convert(told, TableExport), 0)
    assert refusal.value.field == f"import.records.{at}"


def test_a_newer_format_is_refused(told):
    with pytest.raises(InvalidValue) as refusal:
        export.imported(msgspec.convert({**told, "format": FORMAT + 1}, TableExport), 0)
    assert (refusal.value.field, refusal.value.problem) == ("import.format", "too_high")
