"""Who sits at the table: ids and names, what replacing keeps, what a change leaves, who cannot leave."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import InUse, InvalidValue, NotAllowed, NotThere, QuotaExceeded
from service.systems.sixd6.damage import Threat
from service.systems.sixd6.healing import Care
from service.table import characters, decks, healing, hits, sheets
from service.table.characters import CharacterFacts, Profile, ProfileChange
from service.table.healing import Asked
from service.table.records import CharacterKind
from service.table.rolls import Cast
from tests.table.played import CHAT, OBSERVER, OF_ZOE, PLAYER, Table, fallen

WHOLE = Profile(name="Ana", kind=CharacterKind.NPC, present=False, seat=3, player="Zoë", meta={"foundry": "x1"})


def add(table, name, identifier=None, **more):
    return table.play(characters.add, Profile(name=name), identifier, **more)


# At a table where Zoé and Max sit.
IDS = [
    # name, given id, id
    ("Ana", None, "ana"),
    ("Ana", "the-boss", "the-boss"),
    ("Ana Zoé Ømega", None, "ana-zoe-mega"),
    ("Zoe", None, "zoe-1"),  # another name, and the same in ASCII
    ("Zôé", None, "zoe-1"),
    ("محمد", None, "character-1"),
    ("🎲", None, "character-1"),
    ("Character", None, "character-1"),
    ("a" * 64, None, "a" * 64),
    ("@everyone", None, "everyone"),
    ("<b>", None, "b"),
]


@pytest.mark.parametrize(("name", "given_id", "identifier"), IDS)
def test_ids_are_given_or_made_from_the_name(name, given_id, identifier):
    table = Table()
    facts = add(table, name, given_id)
    assert (facts.id, facts.name, facts.created) == (identifier, name, True)
    assert table.get(f"c:{identifier}").name == name


def test_made_ids_never_meet():
    table = Table("Zoé", "zoe-1", "zoe-2")
    assert [add(table, name).id for name in ("Zoe", "Zöe", "🎲", "🂡", "ZOẼ")] == [
        "zoe-3", "zoe-4", "character-5", "character-6", "zoe-7",
    ]  # fmt: skip
    long = "a" * 63
    assert add(table, long + "b").id == long + "b"
    assert add(table, long + "ḅ").id == "a" * 58 + "-8"


OPENED = [
    # names, ids
    (["Zoé", "Max"], ["zoe", "max"]),
    (["Zoé", "Zoe"], ["zoe", "zoe-1"]),
    (["zoe-1", "Zoé", "Zoè"], ["zoe-1", "zoe", "zoe-1-2"]),
    (["🎲", "محمد", "Character"], ["character-1", "character-2", "character-3"]),
    (["character-1", "🎲"], ["character-1", "character-1-2"]),
]


@pytest.mark.parametrize(("names", "ids"), OPENED)
def test_everybody_named_when_a_table_is_opened_has_an_id_of_their_own(names, ids):
    everybody = {each.id: each.name for each in Table(*names).play(characters.listed, None).characters}
    assert everybody == dict(zip(ids, names, strict=True))


@settings(deadline=None)
@given(
    names=st.lists(
        st.sampled_from(["Zoé", "Zoe", "Zôe", "zoe-1", "zoe-1-2", "Zoe 2", "🎲", "🂡", "character-1", "--"]), unique=True
    )
)
def test_nobody_takes_another_s_place(names):
    table = Table("Max", *names[::2])
    for name in names[1::2]:
        add(table, name)
    everybody = table.play(characters.listed, None).characters
    assert sorted(each.name for each in everybody) == sorted(["Max", *names])


# Zoé and L’Œil are taken, however they are spelt.
TAKEN = ["Zoé", "ZOÉ", "Zoe\u0301", " zoé ", "l'œil", "Ｌ’Œil"]


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_belongs_to_one_character(name):
    table = Table("Zoé", "L’Œil", "Max")
    for play, told in (
        (characters.add, (Profile(name=name), None)),
        (characters.put, ("new", Profile(name=name))),
        (characters.put, ("max", Profile(name=name))),
        (characters.change, ("max", ProfileChange(name=name))),
    ):
        with pytest.raises(InvalidValue) as refusal:
            table.play(play, *told)
        assert (refusal.value.field, refusal.value.problem) == ("name", "taken")


@pytest.mark.parametrize("names", [["Max", "Zoé", "ZOÉ"], ["Zoé", "Max", "", "Ana"], ["a", "b", "c" * 65]])
def test_a_table_opened_with_a_wrong_name_says_which(names):
    with pytest.raises(InvalidValue) as refusal:
        Table(*names)
    assert refusal.value.field == "characters[2]"


def test_a_character_may_be_spelt_anew():
    table = Table()
    assert table.play(characters.put, "zoe", Profile(name="ZOÉ")).name == "ZOÉ"
    assert table.play(characters.change, "zoe", ProfileChange(name="Zoé")).name == "Zoé"


def test_a_given_id_is_taken_once():
    with pytest.raises(InvalidValue) as refusal:
        add(Table(), "Ana", "zoe")
    assert (refusal.value.field, refusal.value.problem) == ("id", "taken")


@pytest.mark.parametrize("identifier", ["", "Zoe", "zoé", "a b", "a_b", "a" * 65, "zoe\n", "..", "c:zoe"])
def test_an_id_has_plain_letters(identifier):
    with pytest.raises(InvalidValue) as refusal:
        Table().play(characters.put, identifier, Profile(name="Ana"))
    assert (refusal.value.field, refusal.value.problem) == ("character", "bad_id")


FOUND = [
    # typed, id
    ("zoe", "zoe"),
    ("Zoé", "zoe"),
    ("ZOÉ ", "zoe"),
    ("l'œil", "l-oeil"),
    ("L’ŒIL", "l-oeil"),
    ("max", "max"),  # an id counts before a name
    ("Max", "the-other"),
]


@pytest.mark.parametrize(("typed", "identifier"), FOUND)
def test_a_character_is_found_by_its_name(typed, identifier):
    table = Table("Zoé", "L’Œil")
    add(table, "Maxime", "max")
    add(table, "Max", "the-other")
    assert [each.id for each in table.play(characters.listed, typed, by=OBSERVER).characters] == [identifier]


def test_who_is_not_there_is_told_with_the_nearest_names():
    table = Table("Zoé", "Max", "Maxime")
    for play, near in ((characters.listed, ("Max", "Maxime")), (characters.one, ("max", "maxime"))):
        with pytest.raises(NotThere) as refusal:
            table.play(play, "maxi")
        assert (refusal.value.kind, refusal.value.name) == ("character", "maxi")
        assert sorted(refusal.value.nearest) == sorted(near)
    with pytest.raises(NotThere) as refusal:
        table.play(characters.one, "Zoé" * 100)  # an id that cannot be
    assert len(refusal.value.name) == 64


def test_everything_that_is_told_of_a_character_is_kept():
    table = Table()
    facts = table.play(characters.add, WHOLE, None)
    told = {"id": "ana", "name": "Ana", "kind": CharacterKind.NPC, "present": False, "seat": 3, "player": "Zoë"}
    assert facts == CharacterFacts(**told, meta={"foundry": "x1"}, created=True, event=str(table.version))
    assert table.play(characters.one, "ana") == CharacterFacts(**told, meta={"foundry": "x1"})
    assert (table.events[-1].type, table.events[-1].character, table.events[-1].data) == ("character.put", "ana", facts)


def test_a_replaced_character_gets_defaults_for_what_is_left_out():
    table = Table()
    assert table.play(characters.put, "ana", WHOLE).created
    facts = table.play(characters.put, "ana", Profile(name="Ana II"))
    assert not facts.created
    plain = {"kind": CharacterKind.PC, "present": True, "seat": None, "player": None, "meta": {}}
    assert table.play(characters.one, "ana") == CharacterFacts(id="ana", name="Ana II", **plain)


def test_a_replaced_character_keeps_timers_levels_sheet_and_cards():
    table = Table(tier_size=3)
    table.play(decks.draw, "light", 2, holder="zoe")
    table.play(healing.roll, "zoe", Asked(care=Care.CALM_SELF, base=1, level=9), fallen(5))
    table.play(sheets.put, "zoe", sheets.Sheet(damage=2))
    before, sheet = table.get("c:zoe"), table.get("s:zoe")
    table.play(characters.put, "zoe", Profile(name="Zoé II"))
    after = table.get("c:zoe")
    assert (after.timers, after.levels, after.name) == (before.timers, before.levels, "Zoé II")
    assert after.timers.rolled_ms == {Care.CALM_SELF: 0}
    assert table.get("s:zoe") == sheet
    assert table.piles("light")[2] == {1: "zoe", 2: "zoe"}


CHANGES = [
    # member, told, kept; what null resets it to
    ("name", "Zoé", "Zoé", None),
    ("kind", CharacterKind.PC, CharacterKind.PC, CharacterKind.PC),
    ("present", True, True, True),
    ("seat", 100, 100, None),
    ("player", "Ana", "Ana", None),
    ("meta", {"a": "b"}, {"a": "b"}, {}),
]


@pytest.mark.parametrize(("member", "told", "kept", "reset"), CHANGES)
def test_a_change_touches_what_it_names(member, told, kept, reset):
    table = Table("Max")
    table.play(characters.put, "ana", WHOLE)
    before = table.play(characters.one, "ana")
    assert table.play(characters.change, "ana", ProfileChange()).event is None
    assert table.play(characters.one, "ana") == before
    table.play(characters.change, "ana", ProfileChange(**{member: told}))
    after = table.play(characters.one, "ana")
    others = [name for name in CharacterFacts.__struct_fields__ if name != member]
    assert getattr(after, member) == kept
    assert [getattr(after, name) for name in others] == [getattr(before, name) for name in others]
    if member != "name":
        table.play(characters.put, "ana", WHOLE)
        table.play(characters.change, "ana", ProfileChange(**{member: None}))
        assert getattr(table.play(characters.one, "ana"), member) == reset


def test_who_is_not_there_cannot_be_changed():
    with pytest.raises(NotThere):
        Table().play(characters.change, "ana", ProfileChange(present=False))


def test_a_character_with_active_cards_stays():
    table = Table()
    table.own("mine", a=2)
    table.play(decks.draw, "light", 2, holder="zoe")
    table.play(decks.draw, "mine", 1, holder="zoe")
    table.play(decks.draw, "mine", 1, holder=decks.TABLE)
    with pytest.raises(InUse) as refusal:
        table.play(characters.delete, "zoe")
    assert (refusal.value.kind, refusal.value.name, refusal.value.active) == ("character", "zoe", 3)
    table.play(characters.delete, "max")
    table.play(decks.discard_of, "zoe")
    facts = table.play(characters.delete, "zoe")
    assert (table.events[-1].type, table.events[-1].data, facts.name) == ("character.deleted", facts, "Zoé")
    assert table.play(characters.listed, None).characters == ()
    with pytest.raises(NotThere):
        table.play(characters.delete, "zoe")


def test_nothing_of_a_deleted_character_meets_a_new_one_of_the_same_id():
    table = Table(tier_size=3)
    table.play(healing.roll, "zoe", Asked(care=Care.CALM_SELF, base=1, level=9), fallen(5))
    table.play(sheets.put, "zoe", sheets.Sheet(damage=2))
    struck = hits.Struck(die=Threat.D4, wait=hits.HitWait.SOAK)
    table.play(hits.strike, "zoe", struck, fallen(4))
    table.play(characters.delete, "zoe")
    assert not [field for field in table.raw if field.endswith(":zoe") or field.startswith("p:")]
    add(table, "Zoé")
    assert all(each.ready for each in table.play(healing.status, "zoe").cares)
    with pytest.raises(InvalidValue):
        table.play(healing.roll, "zoe", Asked(care=Care.CALM_SELF, base=1), Cast())


def test_a_table_seats_a_hundred():
    table = Table(*(f"n{number}" for number in range(99)))
    assert add(table, "last").id == "last"
    for play, told in ((characters.add, (Profile(name="one more"), None)), (characters.put, ("more", Profile(name="more")))):
        with pytest.raises(QuotaExceeded) as refusal:
            table.play(play, *told)
        assert (refusal.value.what, refusal.value.most) == ("characters", 100)
    table.play(characters.put, "last", Profile(name="replaced"))
    table.play(characters.delete, "last")
    add(table, "again")


NEW = Profile(name="Ana")
# Who may: an unbound player, a chat, an observer, Zoé's player.
MAY = [
    # play, what it is told, who may
    (characters.add, (NEW, None), [PLAYER]),
    (characters.put, ("ana", NEW), [PLAYER]),
    (characters.put, ("zoe", NEW), [PLAYER, OF_ZOE]),
    (characters.put, ("max", NEW), [PLAYER]),
    (characters.change, ("zoe", ProfileChange(seat=1)), [PLAYER, OF_ZOE]),
    (characters.change, ("max", ProfileChange(seat=1)), [PLAYER]),
    (characters.delete, ("zoe",), []),
    (characters.one, ("max",), [PLAYER, CHAT, OBSERVER, OF_ZOE]),
]


@pytest.mark.parametrize(("play", "told", "who"), MAY)
@pytest.mark.parametrize("token", [PLAYER, CHAT, OBSERVER, OF_ZOE], ids=lambda token: token.id)
def test_who_may(play, told, who, token):
    table = Table()
    if token in who:
        assert table.play(play, *told, by=token).id
    else:
        with pytest.raises(NotAllowed):
            table.play(play, *told, by=token)
