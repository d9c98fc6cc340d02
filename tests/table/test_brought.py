"""What an import may bring: what a step would have refused is refused, and whatever is taken can be read and played."""

import json
from contextlib import suppress
from copy import deepcopy
from functools import partial

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from service.errors import GameError, InvalidValue
from service.systems.burn2d6.action import Stat
from service.systems.burn2d6.damage import BurnableStat
from service.systems.sixd6.damage import Threat
from service.systems.sixd6.healing import MOST_MS, Care
from service.table import (
    brought,
    burn_sheets,
    cards,
    characters,
    decks,
    export,
    healing,
    hits,
    imports,
    opponents,
    rolls,
    sheets,
    state,
    turn,
)
from service.table.burn_sheets import BurnSheetProfile, SheetSlot
from service.table.clock import ClockAction
from service.table.export import TableExport
from service.table.hits import HitWait, Soaked, Struck
from service.table.records import FORMAT
from service.table.rolls import Cast, PoolAsked
from tests.live import Table as At
from tests.live import in_process
from tests.table.played import CHAT, GM, Table, fallen, give, with_sheet

REFUSED_BY = (InvalidValue, imports.NotOfType)
HOUR_MS = 3_600_000


def full():
    """A table that has something of everything."""
    table = Table("Zoé", "Max", "Ana", running=False, tier_size=3)
    table.move(ClockAction.ADVANCE, HOUR_MS)
    with_sheet(table, control=2, shooting=1, damage=5, trauma=4, protections=("light", "heavy"))
    stats = {Stat.MOVE: BurnableStat(7, 1), Stat.SOUL: BurnableStat(4, 4)}
    table.play(burn_sheets.put, "zoe", BurnSheetProfile(stats=stats, slots=(SheetSlot(name="Jetpack", value=3, burned=1),)))
    table.play(opponents.add, opponents.OpponentProfile(name="Ogre", burn_max=5, burns=2, action_difficulty=1), None)
    table.play(
        characters.change,
        "max",
        characters.ProfileChange(kind="npc", present=False, seat=2, player="Léa", meta={"foundry": "x1"}),
    )
    table.own("mine", a=2, b=3)
    table.play(decks.draw, "mine", 1, holder="ana")
    table.play(decks.draw, "mine", 1, holder=None)
    table.play(decks.draw, "mine", 1, holder="max", visibility="gm")
    table.play(decks.draw, "light", 2, holder=decks.TABLE)
    table.play(decks.draw, "light", 1, holder=None)
    table.play(healing.roll, "ana", healing.Asked(care=Care.CALM_SELF, base=1, level=5), fallen(5))
    for name, faces in (("zoe", 5), ("max", 6), ("ana", 5)):
        table.play(hits.strike, name, Struck(die=Threat.D8, wait=HitWait.SOAK, protections=frozenset()), fallen(faces))
    second, third = (each.hit for each in table.play(hits.listed)[1:])
    table.play(hits.soak, "max", second, Soaked(kind="composure", base=2), fallen(6, 1, 2), HitWait.CONVERSIONS)
    table.play(hits.soak, "ana", third, None, Cast(), None)
    table.play(cards.apply, give(table, "team-breakdown", decks.TABLE), cards.Wanted())
    table.play(cards.apply, give(table, "inversion", "max"), cards.Wanted(character="zoe"))
    table.play(cards.apply, give(table, "mandatory-denunciation", "max"), cards.Wanted(character="ana"))
    table.play(cards.apply, give(table, "degraded-authority", "max"), cards.Wanted())
    return json.loads(msgspec.json.encode(table.play(export.export)))


FULL = full()
MINE, LIGHT, GRAVE = (FULL["records"][f"d:{each}"] for each in ("mine", "light", "grave"))
SOAK, CONVERSIONS, RESOLVED = sorted(field for field in FULL["records"] if field.startswith("p:"))


def tampered(*changes):
    """The document with other values at some places; a value that is a function is given the one that is there."""
    told = deepcopy(FULL)
    for *path, last, value in changes:
        there = told["records"]
        for name in path:
            there = there[name]
        there[last] = value(there[last]) if callable(value) else value
    return told


def taken(told):
    return imports.imported(msgspec.convert(told, TableExport), 0, owner="gm")


def test_a_table_that_has_something_of_everything_is_taken():
    assert {field[:2] for field in FULL["records"]} == {field[:2] for field in brought.TYPES}
    assert {*taken(FULL)} == {*FULL["records"]}


# The types.


def plain(info):
    return plain(info.type) if isinstance(info, inspect.Metadata) else info


def members(info):
    """What is inside a type, by name where it has one."""
    match plain(info):
        case inspect.StructType(fields=fields):
            return {field.name: field.type for field in fields}
        case inspect.UnionType(types=types):
            return dict(enumerate(each for each in types if not isinstance(each, inspect.NoneType)))
        case inspect.DictType(key_type=key, value_type=value):
            return {"key": key, "value": value}
        case inspect.VarTupleType(item_type=item) | inspect.FrozenSetType(item_type=item):
            return {"item": item}
        case _:
            return {}


def walked(info, at):
    yield at, info
    for name, inside in members(info).items():
        yield from walked(inside, f"{at}.{name}")


EVERYTHING = [each for name, type_ in brought.TYPES.items() for each in walked(inspect.type_info(type_), name)]


def is_bounded(info):
    """Whether there is a largest value, of what is no closed set; and of an object, whether its members are one."""
    match plain(info):
        case inspect.IntType(ge=least, le=most):
            return None not in (least, most)
        case inspect.StrType(max_length=most, pattern=pattern):
            return most is not None or "{1,64}" in (pattern or "")
        case inspect.DictType() | inspect.VarTupleType() | inspect.FrozenSetType() as several:
            return several.max_length is not None or isinstance(plain(members(several).get("key")), inspect.EnumType)
        case inspect.StructType(forbid_unknown_fields=strict):
            return strict
        case inspect.AnyType() | inspect.FloatType() | inspect.ListType():
            return False
        case _:
            return True


@pytest.mark.parametrize("name", brought.TYPES)
def test_whatever_is_brought_is_bounded(name):
    assert not [at for at, info in EVERYTHING if at.split(".")[0] == name and not is_bounded(info)]


def shape(info):
    """The names of everything inside."""
    match plain(info):
        case inspect.UnionType() as union:  # of objects, those of the one that is brought
            return [each for each in map(shape, members(union).values()) if each]
        case inspect.StructType(fields=fields):
            return {field.encode_name: shape(field.type) for field in fields}
        case _:
            return [each for each in map(shape, members(info).values()) if each]


NOT_BROUGHT = {"d:light": ["name", "copies"], "d:grave": ["name", "copies"]}


@pytest.mark.parametrize("name", brought.TYPES)
def test_all_that_is_kept_can_be_brought(name):
    kept, can_be = shape(inspect.type_info(turn.type_of(name))), shape(inspect.type_info(brought.type_of(name)))
    if name == "p:":  # no step keeps a hit that was soaked with grit
        kept["soak"], can_be["soak"] = kept["soak"][-1], can_be["soak"][0]
    for member in NOT_BROUGHT.get(name, ()):
        kept.pop(member)
    assert can_be == kept


# What steps refuse, or cannot be read back.

LONG, TURNED, BROKEN, BELL = "x" * 65, "a\u202eb", "a\nb", "a\x07b"
BIG = MOST_MS // 2 + 1
ROOMY = MOST_MS // 2 - 100_000
"""Close to the most, with room for what is played here."""


def more(records, prefix, record, number):
    """Records of a kind, so many."""
    return {**records, **{f"{prefix}{n}": record(n) for n in range(number)}}


def decks_of_one(number, text, name="own"):
    """Own decks of one card each, behind the numbers that are given out; and with them the number of the next card."""
    first = FULL["records"]["counts"]["next_card"]
    own = {f"d:{name}-{n}": {"first": first + n, "name": "Own", "copies": [1], "pile": [first + n]} for n in range(number)}
    return {**own, **{f"t:{name}-{n}": [text] for n in range(number)}, "counts": {"next_card": first + number}}


def long_texts(number):
    """A deck with so many texts, each as long as may be."""
    texts = [{"card": f"{n:03}", "name": "🎲" * 64, "effect": "🎲" * 300} for n in range(number)]
    pile = [*range(900, 900 + number)]
    return {
        "d:long": {"first": 900, "name": "L", "copies": [1] * number, "pile": pile},
        "t:long": texts,
        "counts": {"next_card": 1_500},
    }


HITS_NOT = ("", "h", "3", "x3", "h-3", "h 3", "h3_0", "h٣", "h" + "3" * 16)

REFUSED = [
    # place in the records, its value, place of the refusal
    # head
    ("head", "format", FORMAT + 1, "head"),
    ("head", "format", 99, "head"),
    ("head", "format", 0, "head"),
    ("head", "name", "", "head"),
    ("head", "name", "x" * 101, "head"),
    ("head", "name", "x" * 1_000_000, "head"),
    *(("head", "name", each, "head") for each in (TURNED, BROKEN, BELL, "\u2066a", "\x00")),
    ("head", "lang", "de", "head"),
    ("head", "settings", "tier_size", 21, "head"),
    ("head", "settings", "of the house", True, "head"),
    ("head", "created_ms", -1, "head"),
    ("head", "owner", "me", "head"),
    # clock and counts
    ("clock", "elapsed_ms", BIG, "clock"),
    ("clock", "elapsed_ms", MOST_MS - 1, "clock"),
    ("clock", "since_ms", MOST_MS + 1, "clock"),
    ("clock", "paused", True, "clock"),
    ("counts", "next_card", MOST_MS, "counts"),
    ("counts", "next_card", BIG, "counts"),
    ("counts", "next_character", MOST_MS, "counts"),
    ("counts", "next_character", BIG, "counts"),
    ("counts", "next_character", 0, "counts"),
    ("counts", "keys", {str(n): 1 for n in range(25)}, "counts"),
    ("counts", "next_hit", 1, "counts"),
    # scene
    ("scene", "suspects", ["ana", "ana"], "scene"),
    ("scene", "suspects", [""], "scene"),
    ("scene", "chosen", {"mine-1": "zoe"}, "scene"),
    ("scene", "chosen", {"grave-1": "zoe"}, "scene"),
    ("scene", "chosen", {"x" * 81: "zoe"}, "scene"),
    ("scene", "breakdown", "light-1", "scene"),
    ("scene", "patch", TURNED, "scene"),
    ("scene", "last_qualification", "cooking", "scene"),
    ("scene", "synchronised", "luck", "scene"),
    ("scene", "weather", "rain", "scene"),
    # characters
    *(("c:zoe", "name", each, "c:zoe") for each in ("", LONG, TURNED, BROKEN, BELL, "Z" + "\u0301" * 5, "Zoé ", "MAX")),
    ("c:zoe", "seat", 0, "c:zoe"),
    ("c:zoe", "seat", 101, "c:zoe"),
    ("c:zoe", "player", "", "c:zoe"),
    ("c:zoe", "player", LONG, "c:zoe"),
    ("c:zoe", "meta", {"": "x"}, "c:zoe"),
    ("c:zoe", "meta", {LONG: "x"}, "c:zoe"),
    ("c:zoe", "meta", {"x": "x" * 201}, "c:zoe"),
    ("c:zoe", "meta", {str(n): "x" for n in range(21)}, "c:zoe"),
    ("c:zoe", "levels", {"damage": 1_001}, "c:zoe"),
    ("c:zoe", "levels", {"hunger": 1}, "c:zoe"),
    ("c:zoe", "timers", {"rolled_ms": {"calm_self": HOUR_MS + 1}}, "c:zoe"),  # a time still to come
    ("c:zoe", "timers", {"rolled_ms": {"calm_self": MOST_MS}}, "c:zoe"),
    ("c:zoe", "timers", {"rolled_ms": {"calm_self": -2 * HOUR_MS - 1}}, "c:zoe"),
    ("c:zoe", "timers", {"windows": {"trauma": {"opened_ms": HOUR_MS + 1}}}, "c:zoe"),
    ("c:zoe", "timers", {"windows": {"trauma": {"opened_ms": 0, "healed": 21}}}, "c:zoe"),
    ("c:zoe", "timers", {"windows": {"trauma": {"opened_ms": 0, "closes_ms": 1}}}, "c:zoe"),
    ("c:zoe", "timers", {"rolled_at": {}}, "c:zoe"),
    ("c:zoe", "cards", [], "c:zoe"),
    (lambda r: more(r, "c:n", lambda n: {"name": f"N{n}"}, 98), ""),
    (f"c:{LONG}", {"name": "Long"}, f"c:{LONG}"),
    # decks
    ("d:mine", "name", None, "d:mine"),
    *(("d:mine", "name", each, "d:mine") for each in ("", LONG, TURNED, BROKEN, BELL)),
    ("d:mine", "copies", [5], "t:mine"),
    ("d:mine", "copies", [2, 3, 0], "d:mine"),
    ("d:mine", "pile", lambda pile: [*pile, "1"], "d:mine"),
    ("d:mine", "hidden", {str(MINE["pile"][0]): {"visibility": "gm", "roller": "gm"}}, "d:mine"),  # not active
    ("d:mine", "hidden", {"999": {"visibility": "gm", "roller": "gm"}}, "d:mine"),
    ("d:mine", "hidden", lambda hidden: {number: {**each, "roller": LONG} for number, each in hidden.items()}, "d:mine"),
    ("d:mine", "hidden", lambda hidden: {number: {**each, "seen_by": []} for number, each in hidden.items()}, "d:mine"),
    ("d:mine", "shuffled", True, "d:mine"),
    ("d:light", "name", "Light", "d:light"),
    ("d:light", "copies", [43], "d:light"),
    ("d:light", "hidden", {str(LIGHT["pile"][0]): {"visibility": "gm", "roller": "gm"}}, "d:light"),
    (lambda r: {**r, **decks_of_one(1, {"card": "a", "name": "A"}, LONG)}, f"d:{LONG}-0"),
    ("d:none", {"first": 900, "name": "None", "copies": []}, "d:none"),
    ("d:none", {"first": 900, "name": "None"}, "d:none"),
    ("d:many", {"first": 900, "name": "Many", "copies": [500, 1], "pile": [*range(900, 1_400)]}, "d:many"),
    ("d:many", {"first": 900, "name": "Many", "copies": [500, 1], "pile": [*range(900, 1_401)]}, "d:many"),
    (lambda r: {**r, **decks_of_one(18, {"card": "a", "name": "A"})}, ""),  # with three that are there: 21
    (lambda r: {**r, **decks_of_one(40, {"card": "a", "name": "A"})}, ""),
    # card texts
    ("t:mine", 0, "name", "", "t:mine"),
    *(("t:mine", 0, "name", each, "t:mine") for each in (LONG, TURNED, BROKEN, BELL)),
    *(("t:mine", 0, "effect", each, "t:mine") for each in ("x" * 301, TURNED, BROKEN, BELL)),
    ("t:mine", 0, "effect", "x" * 5_000_000, "t:mine"),
    *(("t:mine", 0, "card", each, "t:mine") for each in ("", LONG, "A", "a\n", "b")),  # b: twice
    ("t:mine", 0, "copies", 2, "t:mine"),
    (lambda r: {**r, "t:mine": [{"card": str(n), "name": "A"} for n in range(501)]}, "t:mine"),
    (lambda r: {**r, **long_texts(180)}, ""),  # 255 KiB and more
    # sheets
    ("s:zoe", "aptitudes", {"control": 4}, "s:zoe"),
    ("s:zoe", "aptitudes", {"luck": 1}, "s:zoe"),
    ("s:zoe", "qualifications", {"shooting": -1}, "s:zoe"),
    ("s:zoe", "damage", 1_001, "s:zoe"),
    ("s:zoe", "protections", ["light", "light"], "s:zoe"),
    ("s:zoe", "protections", ["paper"], "s:zoe"),
    ("s:zoe", "version", -1, "s:zoe"),
    ("s:zoe", "version", MOST_MS + 1, "s:zoe"),
    ("s:zoe", "notes", "", "s:zoe"),
    ("b:zoe", "stats", {}, "b:zoe"),
    ("b:zoe", "stats", {"move": {"value": 0}}, "b:zoe"),
    ("b:zoe", "stats", {"move": {"value": 3, "burned": 4}}, "b:zoe"),
    ("b:zoe", "stats", {"move": {"value": 3, "name": "x"}}, "b:zoe"),
    *(("b:zoe", "slots", 0, "name", each, "b:zoe") for each in ("", LONG, TURNED, BROKEN, " Jetpack", "MOVE")),
    ("b:zoe", "slots", lambda slots: slots * 2, "b:zoe"),
    ("b:zoe", "slots", [{"name": str(n), "value": 1} for n in range(5)], "b:zoe"),
    ("b:zoe", "slots", 0, "burned", 4, "b:zoe"),
    ("b:zoe", "tally", {"stat_burns": 1_001}, "b:zoe"),
    ("b:zoe", "tally", {"surges": 1}, "b:zoe"),
    ("b:zoe", "surge", 1, "b:zoe"),
    ("b:zoe", "notes", "", "b:zoe"),
    # opponents
    *(("o:ogre", "name", each, "o:ogre") for each in ("", LONG, TURNED, BROKEN)),
    ("o:ogre", "burn_max", 1_001, "o:ogre"),
    ("o:ogre", "burns", 6, "o:ogre"),
    ("o:ogre", "action_difficulty", 4, "o:ogre"),
    ("o:ogre", "loot", "gold", "o:ogre"),
    (lambda r: more(r, "o:n", lambda n: {"name": f"N{n}", "burn_max": 1}, 100), ""),
    (f"o:{LONG}", {"name": "Long", "burn_max": 1}, f"o:{LONG}"),
    # hits
    *((f"p:{each}", FULL["records"][SOAK], f"p:{each}") for each in HITS_NOT),
    (SOAK, "die", "d20", SOAK),
    (SOAK, "die", "d4", SOAK),  # no face of it
    (SOAK, "faces", [], SOAK),
    (SOAK, "faces", [5, 6], SOAK),  # a soak that nobody rolled
    (SOAK, "faces", [5] * 2_000, SOAK),
    (SOAK, "protections", ["heavy", "heavy"], SOAK),
    (SOAK, "soak", {"kind": "grit", "base": 1}, SOAK),
    (SOAK, "roller", LONG, SOAK),
    (SOAK, "visibility", "nobody", SOAK),
    (SOAK, "damage", 5, SOAK),
    (lambda r: {**r, SOAK: {**r[SOAK], "faces": [1], "protections": ["light"]}}, SOAK),  # nothing is left to soak
    (CONVERSIONS, "faces", lambda faces: faces[:-1], CONVERSIONS),
    (CONVERSIONS, "faces", lambda faces: [*faces, 1], CONVERSIONS),
    (CONVERSIONS, "soak", {"kind": "composure", "base": 2}, CONVERSIONS),  # converted already
    (CONVERSIONS, "soak", {"kind": "composure", "base": 7, "max_conversions": 0}, CONVERSIONS),
    (CONVERSIONS, "soak", "luck", 1, CONVERSIONS),
    (RESOLVED, "faces", [9], RESOLVED),
    (lambda r: more(r, "p:h9", lambda n: r[SOAK], 48), ""),
]  # fmt: skip


def with_row(path, value):
    if not path:
        return {**FULL, "records": value(FULL["records"])}
    return tampered((*path, value))


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: " ".join(str(each)[:20] for each in row))
def test_what_a_step_would_have_refused_is_refused(row):
    *path, value, at = row
    with pytest.raises(REFUSED_BY) as refusal:
        taken(with_row(path, value))
    assert refusal.value.field == f"import.records.{at}"[:85].rstrip(".")


def test_a_newer_format_of_the_document_is_refused():
    with pytest.raises(REFUSED_BY) as refusal:
        taken({**FULL, "format": FORMAT + 1})
    assert refusal.value.field == "import.format"


# What can be, at the bounds.

TAKEN = [
    ("head", "name", "x" * 100),
    ("clock", "elapsed_ms", ROOMY),
    ("counts", "next_character", ROOMY),
    ("counts", "next_card", ROOMY),
    ("t:mine", 0, "name", "x" * 64),
    ("t:mine", 0, "effect", "x" * 300),
    (lambda r: more(r, "c:n", lambda n: {"name": f"N{n}"}, 97),),
    (lambda r: more(r, "o:n", lambda n: {"name": f"N{n}", "burn_max": 1}, 99),),
    (lambda r: more(r, "p:h9", lambda n: r[SOAK], 47),),
    (lambda r: {**r, **decks_of_one(17, {"card": "a", "name": "A"})},),
    (lambda r: {**r, **long_texts(179)},),
]


@pytest.mark.parametrize("row", TAKEN, ids=lambda row: " ".join(str(each)[:20] for each in row))
def test_what_a_step_could_have_written_is_taken(row):
    *path, value = row
    assert_it_plays(taken(with_row(path, value)))


def assert_it_plays(records):
    """The table can be read by everybody, exported, taken again, and played."""
    table = Table(now_ms=1)
    table.remember({field: msgspec.json.encode(record) for field, record in {**records, "k:gm": GM}.items()})
    for by in (GM, CHAT):
        for play, *told in reads(table):
            facts = table.play(play, *told, by=by)
            assert msgspec.convert(msgspec.to_builtins(facts, str_keys=True), type(facts), str_keys=True) == facts
    again = json.loads(msgspec.json.encode(table.play(export.export)))
    assert {*taken(again)} == {*records}
    for play, *told in steps(table):
        with suppress(GameError):
            table.play(play, *told)  # the table sees to it that what is told can be read again
    assert taken(json.loads(msgspec.json.encode(table.play(export.export))))


def each(table, prefix):
    return [field[2:] for field in table.raw if field.startswith(prefix)]


def reads(table):
    yield (state.state,)
    yield (decks.listed,)
    yield (opponents.listed,)
    yield from ((decks.view, deck) for deck in each(table, "d:"))
    yield from ((play, who) for who in each(table, "c:") for play in (characters.one, healing.status))
    yield from ((sheets.facts_of, who) for who in each(table, "s:"))
    yield from ((burn_sheets.facts_of, who) for who in each(table, "b:"))


def steps(table):
    new = decks.OwnDeck(name="New", cards=((decks.OwnCard(card="a", name="A"), 500),))
    yield from ((partial(decks.draw, holder="zoe"), deck, 1) for deck in each(table, "d:"))
    yield rolls.roll_sixd6, "zoe", PoolAsked(base=2, red=2), Cast()
    yield rolls.roll_group, None, PoolAsked(base=1, red=1), Cast()
    yield healing.roll, "ana", healing.Asked(care=Care.TREAT_DAMAGE, base=1, level=5), Cast()
    yield hits.strike, "ana", Struck(die=Threat.D4, wait=HitWait.SOAK), Cast()
    yield from ((hits.soak, table.get(f"p:{hit}").character, hit, None, Cast(), None) for hit in each(table, "p:"))
    yield characters.add, characters.Profile(name="Z" * 64), None
    yield characters.add, characters.Profile(name="🎲"), None
    yield decks.put_own, "new", new
    yield decks.discard_of, None


# Whatever is brought: every place of the document with every value, one at a time here, several at once over HTTP.

VALUES = [
    *(None, True, "", "x", "zoe", "grave-61", "gm", "provided", "x" * 64, LONG, "x" * 300, "x" * 301, TURNED, BROKEN),
    *(-(10**30), -1, 0, 1, 2, 5, 20, 21, 100, 500, 1_000, ROOMY, MOST_MS, 2**63, 1.5, 1e300),
    *([], [1], ["zoe"], {}, {"x": 1}, {"1": "zoe"}, {"damage": 5}, [{"name": "x"}]),
]


def places(told, at=()):
    """Every place in a document that can be given another value, or a member more; of long lists some."""
    yield at
    match told:
        case dict():
            yield (*at, "another")
            for name, value in told.items():
                yield from places(value, (*at, name))
        case list():
            yield from (place for n in {0, len(told) - 1} & {*range(len(told))} for place in places(told[n], (*at, n)))


PLACES = [place for place in places(FULL["records"]) if place]
PLACED = [field for field in FULL["records"] if field not in ("c:zoe", RESOLVED)]  # the others of their kind have more


@pytest.mark.parametrize("record", PLACED)
def test_whatever_is_taken_can_be_read_and_played(record):
    for *path, last in (place for place in PLACES if place[0] == record):
        for value in VALUES:
            if records := unless_refused(tampered((*path, last, value))):
                assert_it_plays(records)


@pytest.mark.parametrize("record", PLACED)
def test_whatever_is_left_out_the_rest_can_be_read_and_played(record):
    for *path, last in (place for place in PLACES if place[0] == record and place[-1] != "another"):
        told = deepcopy(FULL)
        there = told["records"]
        for name in path:
            there = there[name]
        del there[last]
        if records := unless_refused(told):
            assert_it_plays(records)


def unless_refused(told):
    """No other error than a refusal is one."""
    try:
        return taken(told)
    except REFUSED_BY:
        return None


READS = ("", "/state", "/events", "/export", "/cards", "/decks", "/characters", "/opponents", "/clock")
PLAYED = (
    ("POST /decks/mine/draws", {"character": "zoe"}),
    ("POST /decks/light/draws", {"table": True, "count": 3}),
    ("POST /characters/zoe/sixd6/rolls", {"base": 2, "red": 3}),
    ("POST /characters/ana/sixd6/healing", {"care": "treat_damage", "base": 1, "damage": 5}),
    ("POST /clock", {"action": "advance", "seconds": 31_536_000}),
)


async def assert_it_answers(client, told):
    """Taken or refused: never a 500, and what was taken is read, played and taken again."""
    opened = await client.post("/v1/sessions", json={"import": told})
    if opened.status_code == 422:
        assert all(each["at"].startswith("body.import.") for each in opened.json()["errors"])
        return False
    assert opened.status_code == 201, opened.text
    table = At(client, opened.json())
    for line, body in PLAYED:
        assert (await table.ask(line, body)).status_code in (200, 404, 409, 422)
    sheet = [f"/characters/{each['id']}{path}" for each in opened.json()["characters"] for path in ("", "/sixd6/healing")]
    for by in ("gm", "player"):
        for path in (*READS, *sheet, *(f"/decks/{each}" for each in ("light", "grave"))):
            assert (await table.ask(f"GET {path}", by=by)).status_code == (
                403 if (path, by) == ("/export", "player") else 200
            )
    for path in ("sixd6", "burn2d6"):
        assert (await table.ask(f"GET /characters/zoe/{path}")).status_code in (200, 404)
    again = await client.post("/v1/sessions", json={"import": await table.get("/export")})
    assert again.status_code == 201, again.text
    return True


LETTERS = st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp"))


def fitting(info):
    """Values that a type allows, its bounds among them."""
    match plain(info):
        case inspect.IntType(ge=least, le=most):
            values = st.sampled_from([least, most]) | st.integers(least, most)
        case inspect.StrType(pattern=pattern) if "a-z0-9" in (pattern or ""):
            values = st.sampled_from(["zoe", "max", "ana", "x" * 64])
        case inspect.StrType(min_length=least, max_length=most):
            values = st.text(LETTERS, min_size=least or 0, max_size=most) | st.sampled_from(["🎲" * most, "x" * most])
        case inspect.EnumType(cls=enum):
            values = st.sampled_from([each.value for each in enum])
        case inspect.UnionType(types=types):
            values = st.one_of(*map(fitting, types))
        case inspect.DictType(key_type=key, value_type=value, min_length=least):
            values = st.dictionaries(fitting(key).map(str), fitting(value), min_size=least or 0, max_size=4)
        case (
            inspect.VarTupleType(item_type=item, min_length=least) | inspect.FrozenSetType(item_type=item, min_length=least)
        ):
            values = st.lists(fitting(item), min_size=least or 0, max_size=4, unique_by=str)
        case inspect.StructType() as struct:
            values = objects(struct)
        case other:
            values = st.booleans() if isinstance(other, inspect.BoolType) else st.none()
    return values


def objects(struct):
    told = {each.encode_name: (each.required, fitting(each.type)) for each in struct.fields}
    tag = {struct.tag_field: st.just(struct.tag)} if struct.tag_field else {}
    must, may = ({name: value for name, (needed, value) in told.items() if needed is each} for each in (True, False))
    return st.fixed_dictionaries({**must, **tag}, optional=may)


WITHIN = [
    st.tuples(st.just((field, name)), fitting(type_))
    for field in FULL["records"]
    for name, type_ in members(inspect.type_info(brought.type_of(field))).items()
    if name not in ("item", "first", "pile", "discard", "active", "copies", "faces")  # cards, and faces, that add up
]
ANYTHING = st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES))


@pytest.fixture(scope="module")
async def client(redis_url, anyio_backend):
    """As many tables as are wanted."""
    async with in_process(redis_url, creations_per_minute=0) as client:
        yield client


@pytest.mark.anyio
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(changes=st.lists(st.one_of(*WITHIN), min_size=1, max_size=3) | st.lists(ANYTHING, min_size=1, max_size=2))
async def test_over_http_whatever_is_brought_nothing_fails(client, changes):
    told = FULL
    for place, value in changes:
        told = put(told, ("records", *place), value)
    await assert_it_answers(client, told)


def put(told, place, value):
    """The document with another value there, where there is such a place (still)."""
    if not place:
        return value
    first, *rest = place
    if isinstance(told, dict) and (first in told or not rest):
        return {**told, first: put(told.get(first), rest, value)}
    if isinstance(told, list) and first in range(len(told)):
        return [*told[:first], put(told[first], rest, value), *told[first + 1 :]]
    return told


@pytest.mark.anyio
@pytest.mark.parametrize("row", TAKEN, ids=lambda row: " ".join(str(each)[:20] for each in row))
async def test_over_http_a_table_at_its_bounds_answers(client, row):
    *path, value = row
    assert await assert_it_answers(client, with_row(path, value))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("place", "value"),
    [(("t:mine", 0, "name"), LONG), (("t:mine", 0, "effect"), "x" * 301), (("b:zoe", "slots", 0, "name"), "MOVE")],
)
@pytest.mark.parametrize("lang", ["fr", "en"])
async def test_over_http_the_refusal_names_the_record(client, place, value, lang):
    answer = await client.post("/v1/sessions", json={"import": tampered((*place, value))}, params={"lang": lang})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    if place[0] != "b:zoe":  # which is well-formed, and cannot be
        assert answer.json()["errors"][0]["at"] == f"body.import.records{at}"
    else:
        assert answer.json()["errors"][0]["at"] == "body.import.records.b:zoe"
