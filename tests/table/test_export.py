"""A whole table as one document, and the same table again from it; tokens stay behind."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InvalidValue, NotAllowed
from service.systems.sixd6.damage import Threat
from service.systems.sixd6.healing import Care
from service.table import decks, export, healing, hits, imports, sheets, state
from service.table.clock import ClockAction
from service.table.export import TableExport
from service.table.hits import HitWait, Struck
from service.table.records import FORMAT
from service.table.sheets import SheetChange
from tests.live import Table as At
from tests.table.played import CHAT, GM, OBSERVER, OF_ZOE, PLAYER, Table, fallen, with_sheet
from tests.table.test_undo import ANY, BEGUN, play

REFUSED_BY = (InvalidValue, imports.NotOfType)
HOUR_MS = 3_600_000


def sent(told):
    """As it travels."""
    return msgspec.json.decode(msgspec.json.encode(told), type=TableExport)


def again(table, now_ms):
    """A table that was opened from another's export."""
    other = Table(now_ms=now_ms)
    records = imports.imported(sent(table.play(export.export)), now_ms, owner="gm")
    other.remember({field: msgspec.json.encode(record) for field, record in {**records, "k:gm": GM}.items()})
    return other


def lasting(table):
    """All that an export has of a table, but for what is another session's: its age, and how it counts versions."""
    told = table.play(export.export).records
    sheets = {field: {**record, "version": 1} for field, record in told.items() if field[:2] in ("s:", "b:")}
    head = {name: value for name, value in told["head"].items() if name != "created_ms"}
    return {**told, **sheets, "head": head, "clock": {**told["clock"], "since_ms": "since_ms" in told["clock"]}}


def shown(told):
    """What a table's screen shows; without the real times of its moments, which are another day's."""
    if isinstance(told, dict):
        return {name: shown(value) for name, value in told.items() if name not in ("at", "epoch", "version", "last_event")}
    return [shown(each) for each in told] if isinstance(told, list) else told


@settings(deadline=None, max_examples=50)
@given(**ANY, later_ms=st.sampled_from([0, 1, HOUR_MS]))
def test_a_table_that_is_imported_is_the_same(data, names, random, later_ms):
    table = BEGUN.copy()
    play(table, names, data.draw, random)
    other = again(table, table.now_ms + later_ms)  # a table that lies exported does not play
    assert lasting(other) == lasting(table)
    first, second = (shown(json.loads(msgspec.json.encode(each.play(state.state)))) for each in (table, other))
    assert second == first


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
    table.play(healing.roll, "zoe", healing.Asked(care=Care.CALM_SELF, base=1, level=5), fallen(5))
    table.wait(HOUR_MS)
    other = again(table, 50 * HOUR_MS)
    cares = {each.care: each.next_roll.remaining_seconds for each in other.play(healing.status, "zoe").cares}
    assert cares == {"treat_damage": 0, "calm_self": 3_600, "calm_other": 0}


def test_numbers_of_cards_are_not_given_out_twice():
    other = again(BEGUN, 0)
    assert other.get("counts").next_card == BEGUN.get("counts").next_card
    assert other.get("counts").keys == {}


def test_a_hit_that_was_brought_along_keeps_its_place():
    table = Table()
    for _ in range(3):
        table.play(hits.strike, "zoe", Struck(die=Threat.D6, wait=HitWait.SOAK), fallen(5))
    other = again(table, 0)
    for _ in range(3):  # the new session's steps have the same numbers
        other.play(hits.strike, "max", Struck(die=Threat.D4, wait=HitWait.SOAK), fallen(3))
    assert [each.character for each in other.play(hits.listed)] == ["zoe"] * 3 + ["max"] * 3


def test_a_sheet_that_was_brought_along_has_a_version_that_no_step_will_have():
    other = again(with_sheet(with_sheet(Table())), 0)
    first = other.get("s:zoe").version
    versions = [other.play(sheets.change, "zoe", SheetChange(damage=damage)).version for damage in range(11, 15)]
    assert first not in versions


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
    # what is done to the records, record at fault
    (lambda r: put(r, "k:abc", value={"id": "x", "role": "gm", "created_ms": 0}), "k:abc"),  # a token
    (lambda r: put(r, "x:odd", value={}), "x:odd"),
    (lambda r: put(r, "version", value=7), "version"),
    (lambda r: put(r, "c:zoe", value={"name": 1}), "c:zoe"),
    (lambda r: put(r, "c:zoe", value=None), "c:zoe"),
    (lambda r: put(r, "c:zoe", "kind", value="ghost"), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value=" "), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value="z" * 65), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value="Zo\u202eé"), "c:zoe"),
    (lambda r: put(r, "c:zoe", "name", value=" Zoé"), "c:zoe"),  # not as a step would have kept it
    (lambda r: put(r, "c:zoe", "name", value="MAX"), "c:zoe"),  # one name would find both
    (lambda r: put(r, "c:", value={"name": "Nobody"}), "c:"),
    (lambda r: put(r, "c:No id", value={"name": "Nobody"}), "c:No id"),
    (lambda r: put(r, "s:zoe", value={}), "s:zoe"),
    (lambda r: put(r, "s:zoe", value={**SHEET, "damage": -1}), "s:zoe"),
    (lambda r: put(r, "s:nobody", value=SHEET), "s:nobody"),
    (lambda r: put(r, "b:nobody", value=SHEET), "b:nobody"),
    (lambda r: put(r, "p:h3", value={**HIT, "character": "nobody"}), "p:h3"),
    (lambda r: put(r, "o:ogre", value={"name": "Ogre", "burn_max": 2, "burns": 3}), "o:ogre"),
    (lambda r: put(r, "scene", "suspects", value=["nobody"]), "scene"),
    (lambda r: put(r, "scene", "chosen", value={"grave-44": "nobody"}), "scene"),
    (lambda r: put(r, "scene", "authority", value="nobody"), "scene"),
    (lambda r: put(r, "head", "lang", value="de"), "head"),
    (lambda r: put(r, "head", "settings", "tier_size", value=0), "head"),
    *((lambda r, each=each: taken(r, each), each) for each in ("head", "clock", "scene", "counts")),
]

# What no record alone is at fault for: the table would show what the contract says that it never shows.
IMPOSSIBLE = [
    lambda r: put(r, "s:zoe", value={**SHEET, "aptitudes": {"control": 99}}),
    lambda r: put(r, "b:zoe", value={**SHEET, "stats": {"move": [1, 2]}}),
    lambda r: put(r, "p:zoe", value=HIT),
    lambda r: put(r, "p:h3", value={**HIT, "faces": []}),
    lambda r: put(r, "p:h3", value={**HIT, "faces": [7]}),
    lambda r: put(r, "p:h3", value={**HIT, "soak": {"kind": "grit", "base": 2}}),
    lambda r: put(r, "clock", "elapsed_ms", value=-1),
    lambda r: put(r, "c:zoe", "seat", value=0),
]


@pytest.mark.parametrize(("tamper", "at"), CARDS + RECORDS)
def test_what_is_not_whole_is_refused_by_the_records_name(told, tamper, at):
    tamper(told["records"])
    with pytest.raises(REFUSED_BY) as refusal:
        imports.imported(msgspec.convert(told, TableExport), 0, owner="gm")
    assert refusal.value.field == f"import.records.{at}"


@pytest.mark.parametrize("tamper", IMPOSSIBLE)
def test_a_table_that_cannot_be_is_refused(told, tamper):
    tamper(told["records"])
    with pytest.raises(REFUSED_BY) as refusal:
        imports.imported(msgspec.convert(told, TableExport), 0, owner="gm")
    assert refusal.value.field.startswith("import.records")


def test_what_was_not_tampered_with_is_taken(told):
    assert {*imports.imported(msgspec.convert(told, TableExport), 0, owner="gm")} == {*told["records"]}


def test_a_newer_format_is_refused(told):
    with pytest.raises(REFUSED_BY) as refusal:
        imports.imported(msgspec.convert({**told, "format": FORMAT + 1}, TableExport), 0, owner="gm")
    assert (refusal.value.field, refusal.value.problem) == ("import.format", "too_high")


# Over HTTP.


@pytest.mark.anyio
@pytest.mark.parametrize("clock", ["running", "paused"])
async def test_over_http_a_table_moves(client, clock):
    table = await At.open(
        client, name="Friday", characters=["Zoé", "Max"], settings={"tier_size": 3}, clock=clock, lang="fr"
    )
    for line, body in (
        ("POST /clock", {"action": "advance", "seconds": 60}),
        ("PUT /characters/zoe/sixd6", {"aptitudes": {"control": 3}, "damage": 4, "trauma": 2, "protections": ["heavy"]}),
        ("PUT /decks/own", {"name": "Own", "cards": [{"card": "limp", "name": "Boiterie", "effect": "é", "copies": 2}]}),
        ("POST /decks/own/draws", {"character": "max"}),
        ("POST /decks/light/draws", {"table": True}),
        ("POST /characters/max/sixd6/damage", {"die": "d8", "wait": "soak", "faces": [5]}),
        ("POST /characters/zoe/sixd6/healing", {"care": "calm_self", "base": 1, "faces": [5]}),
        ("POST /opponents", {"name": "Ogre", "burn_max": 3}),
    ):
        answer = await table.ask(line, body)
        assert answer.is_success, answer.text
    told = await table.get("/export")
    assert not any(token in json.dumps(told) for token in table.tokens.values())
    opened = await client.post("/v1/sessions", json={"import": told})
    assert opened.status_code == 201, opened.text
    other = At(client, opened.json())
    assert (opened.json()["name"], opened.json()["lang"]) == ("Friday", "fr")
    assert other.tokens["gm"] != table.tokens["gm"]
    assert (await other.ask("GET /state", by=table.tokens["gm"])).status_code == 401
    before, after = await table.get("/state"), await other.get("/state")
    assert steady(after) == steady(before)
    assert abs(after["clock"]["elapsed_seconds"] - before["clock"]["elapsed_seconds"]) < 30
    assert after["clock"]["running"] is (clock == "running")
    hit = after["hits"][0]["hit"]
    wound = (await other.ask(f"POST /characters/max/sixd6/damage/{hit}/soak", {"kind": "none"})).json()
    assert (wound["damage"], wound["state"]) == (5, "resolved")
    assert (await other.ask("POST /decks/own/draws", {"character": "zoe"})).json()["cards"][0]["effect"] == "é"
    again = await other.ask("POST /characters/zoe/sixd6/healing", {"care": "calm_self", "base": 1, "faces": [5]})
    assert again.json()["code"] == "healing-cooldown"


def steady(state):
    """What does not change while it is read."""
    told = shown({name: value for name, value in state.items() if name != "clock"})
    for each in told["characters"]:
        each["healing"] = [track["level"] for track in each["healing"]["tracks"]]
    return told


@pytest.mark.anyio
@pytest.mark.parametrize("role", ["player", "chat", "observer"])
async def test_over_http_an_export_is_the_gms(table, role):
    await table.mint("other", role)
    assert (await table.ask("GET /export", by="other")).status_code == 403


@pytest.mark.anyio
async def test_over_http_a_tampered_export_is_refused_by_the_records_name(table):
    told = await table.get("/export")
    told["records"]["d:light"]["pile"].pop()
    for lang in ("fr", "en"):
        answer = await table.client.post("/v1/sessions", json={"import": told}, params={"lang": lang})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
        assert answer.json()["errors"][0]["at"] == "body.import.records.d:light"
